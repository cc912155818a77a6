import { randomBytes } from 'node:crypto';
import type { MirrorStatus, RunReport, RunRequest } from '../../src/core/contract/index.js';
import type { History } from '../../src/temporal/replay.js';
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

/** A moment in the history of a mirror. `resetMirror` goes back there. */
export interface MirrorPlace {
  readonly runId: string;
  readonly eventId: NonNullable<NonNullable<History['events']>[number]['eventId']>;
}

/** Where a mirror waits for requests. After a run, it may just have continued as new. */
export async function placeOf(stack: Stack, resource: string): Promise<MirrorPlace> {
  const { client } = stack.temporal;
  const workflowId = stack.mirrorId(resource);
  let place: MirrorPlace | undefined;
  await until(async () => {
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const eventId = events!.findLast((one) => one.workflowTaskCompletedEventAttributes)?.eventId;
    place = eventId ? { runId, eventId } : undefined;
    return place !== undefined;
  }, 'the mirror waits for requests');
  return place!;
}

/** Takes a mirror back to an earlier place, without the signals since then. */
export async function resetMirror(
  stack: Stack,
  resource: string,
  { runId, eventId }: MirrorPlace,
): Promise<void> {
  const { client } = stack.temporal;
  await client.workflowService.resetWorkflowExecution({
    ...{ namespace: client.options.namespace, requestId: randomBytes(8).toString('hex'), reason: 'test' },
    workflowExecution: { workflowId: stack.mirrorId(resource), runId },
    workflowTaskFinishEventId: eventId,
    resetReapplyExcludeTypes: [1],
  });
}
