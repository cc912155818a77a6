import { condition, continueAsNew, getExternalWorkflowHandle, isCancellation } from '@temporalio/workflow';
import type { LockState, LockTicket } from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { idProblem, lockTicketProblem } from '../../src/core/signal-checks.js';
import { shouldContinueAsNew } from '../shared/long-lived.js';
import { acquireLock, lockGranted, releaseLock } from '../shared/messages.js';
import { handleChecked, wellFormed } from '../shared/signals.js';

/** An unused lock completes after this time; the next batch starts it again. */
const IDLE = '1 minute';
/** How often the holder is checked while other batches wait, ms. */
const FIRST_CHECK_MS = MINUTE_MS;
const MAX_CHECK_MS = 30 * MINUTE_MS;

/**
 * Lets the batches of one resource write one at a time, in the order of their requests. A batch that was terminated
 * releases no lock, but it can no longer be signalled: the next check of the holder fails, and the lock is free.
 */
export async function writeBackLockWorkflow(initial: LockState): Promise<void> {
  const carried = initial.holder === null ? [] : [initial.holder];
  let holder: LockTicket | null = wellFormed(carried, lockTicketProblem)[0] ?? null;
  let waiting = wellFormed(initial.waiting, lockTicketProblem);
  /** Whether to check the holder without delay. */
  let checkNow = false;

  handleChecked(acquireLock, lockTicketProblem, (ticket) => {
    checkNow = true;
    if (holder?.token === ticket.token) return;
    // A batch has one workflow id: if another run of it requests the lock, its earlier run has ended.
    if (holder?.workflowId === ticket.workflowId) holder = null;
    if (waiting.some(({ token }) => token === ticket.token)) return;
    waiting = [...waiting.filter(({ workflowId }) => workflowId !== ticket.workflowId), ticket];
  });
  handleChecked(releaseLock, idProblem, (token) => {
    waiting = waiting.filter((ticket) => ticket.token !== token);
    if (holder?.token === token) holder = null;
  });

  for (;;) {
    if (shouldContinueAsNew()) {
      await continueAsNew<typeof writeBackLockWorkflow>({ ...initial, holder, waiting });
    }
    if (holder === null) {
      const [next, ...others] = waiting;
      if (next !== undefined) {
        [holder, waiting, checkNow] = [next, others, false];
        await grant(next);
      } else if (!(await condition(() => waiting.length > 0, IDLE)) && waiting.length === 0) {
        return;
      }
    } else {
      await watch(holder);
    }
  }

  /** Returns once the holder has released the lock or no longer runs. */
  async function watch(ticket: LockTicket): Promise<void> {
    const isOver = (): boolean => holder?.token !== ticket.token || shouldContinueAsNew();
    await condition(() => isOver() || checkNow || waiting.length > 0);
    for (let wait = FIRST_CHECK_MS; !isOver(); wait = Math.min(2 * wait, MAX_CHECK_MS)) {
      await condition(() => isOver() || checkNow, wait);
      if (isOver()) return;
      checkNow = false;
      await grant(ticket);
      if (waiting.length === 0) return;
    }
  }

  /** Signals a batch that it holds the lock. If the batch no longer runs, the lock is free. */
  async function grant({ workflowId, token }: LockTicket): Promise<void> {
    try {
      await getExternalWorkflowHandle(workflowId).signal(lockGranted, token);
    } catch (error) {
      if (isCancellation(error)) throw error;
      if (holder?.token === token) holder = null;
    }
  }
}
