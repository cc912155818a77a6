import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterEach } from 'vitest';
import type { MirrorStatus } from '../../../src/core/contract/index.js';
import { historiesOf } from '../../support/histories.js';
import { type Stack, type StackOptions, startStack } from '../../support/stack.js';

/**
 * The `*.record.ts` files next to this one are not tests. They run each workflow through its relevant paths on a real server
 * and write its history to `histories/<workflow>.<path>.json`. Run them (`npm run replay:record`) after an intended change of
 * a workflow's behaviour.
 */
const FOLDER = join(import.meta.dirname, '../histories');

/** The stack of the current recording. */
export let stack: Stack;
afterEach(() => stack?.stop());

export async function started(options: StackOptions): Promise<void> {
  stack = await startStack({
    simulator: { awkward: false, counts: { projects: 20 } },
    resources: '[projects]',
    ...options,
  });
  await stack.startWorker();
}

export async function record(
  workflow: string,
  path: string,
  workflowId: string,
  runId?: string,
): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const all = await historiesOf(stack.temporal.client, workflowId, runId);
  // The newest one may have no completed task yet, and so nothing to replay.
  const histories = all.filter(({ events }) =>
    events?.some((event) => event.workflowTaskCompletedEventAttributes),
  );
  for (const [at, history] of histories.entries()) {
    const part = histories.length === 1 ? '' : `.${at + 1}`;
    const name = `${workflow}.${path}${part}.json`;
    const { events } = JSON.parse(historyToJSON(history)) as { readonly events: readonly object[] };
    // One event per line, so that files stay small and a diff shows which events changed.
    const lines = events.map((event) => JSON.stringify(event, scrub));
    await writeFile(join(FOLDER, name), `{"events":[\n${lines.join(',\n')}\n]}\n`);
  }
}

/** Removes details of the recording machine, which a replay does not need. */
function scrub(key: string, value: unknown): unknown {
  if (key === 'stackTrace') return '';
  return key === 'identity' ? 'worker' : value;
}

/** Runs a workflow to its end, whatever the outcome, and records it. */
export async function ran(workflow: string, path: string, args: object): Promise<void> {
  const workflowId = `${stack.connection}-${path}`;
  const handle = await stack.temporal.client.workflow.start(workflow, {
    workflowId,
    taskQueue: stack.taskQueue,
    args: [{ connection: stack.connection, ...args }],
  });
  await handle.result().catch(() => {});
  await record(workflow, path, workflowId);
}

export const exported = (path: string, args: object = {}): Promise<void> => ran('exportWorkflow', path, args);

export const mirror = (path: string, runId?: string): Promise<void> =>
  record('resourceMirrorWorkflow', path, stack.mirrorId('projects'), runId);

export const mirrorStatus = (): Promise<MirrorStatus> =>
  stack.temporal.client.workflow.getHandle(stack.mirrorId('projects')).query<MirrorStatus>('status');
