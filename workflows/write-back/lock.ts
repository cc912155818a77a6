import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type LockState,
  type LockTicket,
  type WritableResource,
  writeBackLockId,
} from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { idProblem, lockTicketProblem } from '../../src/core/signal-checks.js';
import { nextResendMs, shouldContinueAsNew, signalOrStart } from '../shared/long-lived.js';
import { acquireLock, handleChecked, lockGranted, releaseLock, wellFormed } from '../shared/messages.js';
import { toRunError } from '../shared/run-errors.js';

/** The write-back lock of one resource. Use one per workflow: it handles the signal `lockGranted`. */
export class WriteBackLock {
  readonly #lock: ReturnType<typeof lockOf>;
  readonly #token = workflowInfo().firstExecutionRunId;
  #isHeld = false;

  constructor(connection: string, resource: WritableResource) {
    this.#lock = lockOf(connection, resource);
    handleChecked(lockGranted, idProblem, (token) => {
      if (token === this.#token) this.#isHeld = true;
    });
  }

  /** Waits until no other batch of the resource is writing. */
  async acquire(): Promise<void> {
    const ticket = { workflowId: workflowInfo().workflowId, token: this.#token };
    for (let wait = nextResendMs(); !this.#isHeld; wait = nextResendMs(wait)) {
      try {
        await signalOrStart(this.#lock, acquireLock, ticket);
      } catch (error) {
        if (isCancellation(error)) throw error;
        log.warn('the write-back lock could not be requested; the batch tries again', {
          error: toRunError(error).message,
        });
      }
      await condition(() => this.#isHeld, wait);
    }
  }

  /** Releases the lock for the next batch, also in a cancelled workflow. */
  async release(): Promise<void> {
    this.#isHeld = false;
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(this.#lock.workflowId).signal(releaseLock, this.#token),
    ).catch(() => {
      // If the lock workflow is not running, there is no lock to release.
    });
  }
}

function lockOf(connection: string, resource: WritableResource) {
  return {
    workflow: writeBackLockWorkflow,
    workflowId: writeBackLockId(connection, resource),
    args: [{ connection, resource, holder: null, waiting: [] }] as [LockState],
    staticSummary: `Write-back lock of ${resource} (${connection})`,
    memo: { connection, resource },
  };
}

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
