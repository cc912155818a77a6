import {
  defineQuery,
  defineSignal,
  defineUpdate,
  log,
  type SignalDefinition,
  setHandler,
} from '@temporalio/workflow';
import {
  ALERTS_SIGNAL,
  type AlertReport,
  CHANGE_NOTICE_SIGNAL,
  type ChangeNotice,
  type ExportProgress,
  type MirrorRequest,
  type MirrorStatus,
  type RunAnswer,
  type RunReport,
  type SyncAccepted,
  type SyncInput,
} from '../../src/core/contract/index.js';
import type { LockTicket, WriteBackProgress } from '../../src/core/contract/write-back.js';

/** To a mirror: run this request. A repeated id is the same request. */
export const requestRun = defineSignal<[MirrorRequest]>('requestRun');
/** To a mirror: the sender no longer waits for this request. */
export const withdrawRequest = defineSignal<[string]>('withdrawRequest');
/** To the workflow that sent the request: the report of its run. */
export const runAnswered = defineSignal<[RunAnswer]>('runAnswered');
/** To the workflow that collects the change notices of a resource. */
export const changeNotice = defineSignal<[ChangeNotice]>(CHANGE_NOTICE_SIGNAL);

/** To the workflow that sends alerts: what is known of a connection. */
export const alertReport = defineSignal<[AlertReport]>(ALERTS_SIGNAL);

/** To the lock: queue this batch for the resource. A repeated ticket has no effect. */
export const acquireLock = defineSignal<[LockTicket]>('acquireLock');
/** To the lock: the batch is done, or no longer waits. */
export const releaseLock = defineSignal<[token: string]>('releaseLock');
/** To a batch: it holds the lock. Repeated periodically to check that the batch still runs. */
export const lockGranted = defineSignal<[token: string]>('lockGranted');

/** To the workflow that looks for the written rows of a batch: a later run of the batch has written rows. */
export const rowsWritten = defineSignal<[batchId: string]>('rowsWritten');

/** To a mirror: start a run. Returns the id of the request immediately; the query `answer` returns its report. */
export const sync = defineUpdate<SyncAccepted, [SyncInput]>('sync');

/** The report of a request, by its id; `null` while it waits or runs, and after the mirror has dropped its answer. */
export const requestAnswer = defineQuery<RunReport | null, [string]>('answer');
export const mirrorStatus = defineQuery<MirrorStatus>('status');
export const exportProgress = defineQuery<ExportProgress>('progress');
export const writeBackProgress = defineQuery<WriteBackProgress>('progress');

/**
 * Handles a signal if its argument passes the check. Otherwise drops the signal and logs the problem without the content.
 * A handler that throws would block the workflow permanently, because each workflow task replays the signal.
 *
 * @param problemOf a check from `src/core/signal-checks.ts`; returns `null` for a well-formed argument
 */
export function handleChecked<Argument>(
  signal: SignalDefinition<[Argument]>,
  problemOf: (argument: unknown) => string | null,
  handle: (argument: Argument) => void,
): void {
  setHandler(signal, (argument: Argument) => {
    const problem = problemOf(argument);
    if (problem === null) handle(argument);
    else log.warn('dropped a malformed signal', { signal: signal.name, problem });
  });
}

/** The well-formed elements of a list in the carried-over state. Drops and logs the others. */
export function wellFormed<Element>(
  carried: readonly Element[],
  problemOf: (element: unknown) => string | null,
): readonly Element[] {
  return carried.filter((element) => {
    const problem = problemOf(element);
    if (problem !== null) log.warn('dropped a malformed message from the carried-over state', { problem });
    return problem === null;
  });
}
