import { workflowInfo } from '@temporalio/workflow';
import type { ActiveRun, MirrorState, Writer } from '../../src/core/contract/index.js';

/** This mirror, as pointer and manifests name it. */
export function writer(): Writer {
  const { firstExecutionRunId: workflow, namespace } = workflowInfo();
  return { workflow, namespace };
}

/** Identifies a run and its mirror. */
export function fenced({ connection, resource, published, displaced }: MirrorState, { runId }: ActiveRun) {
  const publishedRunId = published?.runId ?? null;
  return { connection, resource, runId, writer: writer(), publishedRunId, displaced };
}
