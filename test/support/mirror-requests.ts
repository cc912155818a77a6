import type { MirrorStatus, RunReport, RunRequest } from '../../src/core/contract/index.js';
import { runRequest } from './run-request.js';
import { type Stack, until } from './stack.js';

export function mirrorOf(stack: Stack, resource: string) {
  return stack.temporal.client.workflow.getHandle(stack.mirrorId(resource));
}

export function mirrorStatus(stack: Stack, resource: string): Promise<MirrorStatus> {
  return mirrorOf(stack, resource).query<MirrorStatus>('status');
}

/** A request like that of a backfill with delete detection. */
export function reconcile(
  stack: Stack,
  resource: string,
  changes: Partial<RunRequest> = {},
): Promise<RunReport> {
  return requestRun(stack, resource, { mode: 'full', reconcile: true, ...changes });
}

/** Sends a request to a mirror that has run before, and waits for the end of the run. */
export async function requestRun(
  stack: Stack,
  resource: string,
  changes: Partial<RunRequest> = {},
): Promise<RunReport> {
  const before = (await mirrorStatus(stack, resource)).lastRun?.runId;
  await mirrorOf(stack, resource).signal('requestRun', runRequest(changes));
  let last: RunReport | null = null;
  // If its worker is killed, a run waits for ten seconds without a heartbeat and for the start of the next worker.
  const isOver = async (): Promise<boolean> => {
    // A worker that is down, or was just killed, answers later.
    ({ lastRun: last } = await mirrorStatus(stack, resource).catch(() => ({ lastRun: null })));
    return last !== null && last.runId !== before;
  };
  await until(isOver, 'the run has ended');
  return last!;
}
