import { workflowInfo } from '@temporalio/workflow';
import type { ActiveRun, MirrorState, Writer } from '../../src/core/contract/index.js';

/** A mirror, as its requests read and change it. */
export interface Mirror {
  readonly state: MirrorState;
  /** How far the current run is in the lake. From `sent` on, its swap may arrive, so it may be published although it fails. */
  inLake: 'no' | 'staged' | 'sent';
  change(changes: Partial<MirrorState>): void;
  /** Shows the current run to queries. */
  setActive(active: ActiveRun): void;
}

/** This mirror, as pointer and manifests name it. */
export function writer(): Writer {
  const { firstExecutionRunId: workflow, namespace } = workflowInfo();
  return { workflow, namespace };
}

/** Identifies a run and its mirror. */
export function fenced(
  { connection, resource, published, displaced }: MirrorState,
  { runId }: Pick<ActiveRun, 'runId'>,
) {
  const publishedRunId = published?.runId ?? null;
  return { connection, resource, runId, writer: writer(), publishedRunId, displaced };
}
