import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type LockState,
  type WritableResource,
  writeBackLockId,
} from '../../src/core/contract/write-back.js';
import { idProblem } from '../../src/core/signal-checks.js';
import { toRunError } from '../shared/failures.js';
import { nextResendMs, signalOrStart } from '../shared/long-lived.js';
import { acquireLock, lockGranted, releaseLock } from '../shared/messages.js';
import { handleChecked } from '../shared/signals.js';
import { writeBackLockWorkflow } from './lock.js';

/** The write-back lock of one resource. Use one per workflow: it handles the signal `lockGranted`. */
export class WriteBackLock {
  readonly #connection: string;
  readonly #resource: WritableResource;
  readonly #lockId: string;
  readonly #token = workflowInfo().firstExecutionRunId;
  #isHeld = false;

  constructor(connection: string, resource: WritableResource) {
    this.#connection = connection;
    this.#resource = resource;
    this.#lockId = writeBackLockId(connection, resource);
    handleChecked(lockGranted, idProblem, (token) => {
      if (token === this.#token) this.#isHeld = true;
    });
  }

  /** Waits until no other batch of the resource is writing. */
  async acquire(): Promise<void> {
    const ticket = { workflowId: workflowInfo().workflowId, token: this.#token };
    for (let wait = nextResendMs(); !this.#isHeld; wait = nextResendMs(wait)) {
      try {
        await signalOrStart(this.#lockWorkflow(), acquireLock, ticket);
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
      getExternalWorkflowHandle(this.#lockId).signal(releaseLock, this.#token),
    ).catch(() => {
      // If the lock workflow is not running, there is no lock to release.
    });
  }

  #lockWorkflow() {
    const [connection, resource] = [this.#connection, this.#resource];
    return {
      workflow: writeBackLockWorkflow,
      workflowId: this.#lockId,
      args: [{ connection, resource, holder: null, waiting: [] }] as [LockState],
      staticSummary: `Write-back lock of ${resource} (${connection})`,
      memo: { connection, resource },
    };
  }
}
