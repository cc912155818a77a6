import type { WritableResource } from '../../src/core/contract/write-back.js';
import type { RowReceipt } from '../../src/write-back/index.js';
import type { OpenConnection } from '../shared/deps.js';
import { isKeyRefused } from './check-key.js';
import type { ChunkFeed } from './chunk-feed.js';
import { HeldRows, MAX_HELD, MAX_PROBES } from './held-rows.js';
import { LimitedRows } from './limited-rows.js';
import type { RowTask } from './open-chunk.js';
import type { Refusal } from './row-request.js';
import { refusedFailure } from './stop-failures.js';

/** A row that the service has refused. */
interface RefusedRow extends Refusal {
  readonly task: RowTask;
}

interface RefusalsOptions {
  readonly connection: OpenConnection;
  readonly resource: WritableResource;
  readonly feed: ChunkFeed;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** When the batch began to wait for a limit, by words alone; `null` if it does not wait. */
  readonly limitedSince: number | null;
  /** Whether an earlier attempt of this run has had a row accepted. Called only if it matters. */
  readonly acceptedBefore: () => Promise<boolean>;
  /** Sends a row and records the result. */
  readonly send: (task: RowTask) => Promise<void>;
  /** Waits until no request is in flight. */
  readonly idle: () => Promise<void>;
  /** Records the outcome of a row. */
  readonly settle: (task: RowTask, receipt: RowReceipt) => void;
  /** Records that the outcome of a row stays unknown in this run. */
  readonly unclear: (task: RowTask, status: number | null, message: string) => void;
  readonly halt: (error: unknown) => void;
}

/**
 * Decides what refused rows mean (docs/explanation/guarantees.md#write-back): rows that may not be written, an API key that
 * the service does not accept any more, or a limit.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #held = new HeldRows<RefusedRow>();
  readonly limited: LimitedRows<RowTask>;
  #accepted = false;
  /** The check whether the service refuses every row. Meanwhile, no other row is sent. */
  probing: Promise<void> | null = null;

  constructor(options: RefusalsOptions) {
    this.#options = options;
    this.limited = new LimitedRows(options.limitedSince);
  }

  /** Returns the order of a request that begins now. */
  begin(): number {
    return this.#held.begin();
  }

  /** The service refuses a row; the request may be repeated. */
  refused(task: RowTask): void {
    this.limited.refused(task, this.#held.begin());
  }

  /** A row was accepted: rows that were refused before its request began were refused for their own sake. */
  accepted(task: RowTask, begun: number): void {
    this.#accepted = true;
    this.limited.accepted(task, begun);
    for (const refused of this.#held.accepted(begun)) this.#reject(refused);
  }

  /** Holds a refused row, and checks the service after too many of them. */
  hold(task: RowTask, refusal: Refusal): void {
    this.limited.forget(task);
    const { chunk, index } = task;
    const { status, message } = said(refusal);
    if (refusal.inDoubt) chunk.tried(index, { status, message });
    else chunk.hold(index, { status, message });
    // Without this entry, a killed worker would leave it in doubt whether the row was written.
    chunk.flush().catch(this.#options.halt);
    this.#held.hold({ ...refusal, task });
    if (this.#held.size < MAX_HELD || this.probing !== null) return;
    this.probing = this.#probe()
      .catch(this.#options.halt)
      .finally(() => {
        this.probing = null;
      });
  }

  /** Lets a row wait for the end of a limit. @returns whether it waits; otherwise its refusal is held */
  limit(task: RowTask, refusal: Refusal): boolean {
    const waits = this.limited.wait(task, this.#options.now());
    if (!waits) this.hold(task, refusal);
    return waits;
  }

  /** Decides about the held rows once every row was sent. */
  async conclude(): Promise<void> {
    const { connection, resource, signal, acceptedBefore } = this.#options;
    const { last, size } = this.#held;
    if (last === null) return;
    const isAnyAccepted = this.#accepted || (await acceptedBefore());
    // No later row shows whether the key was revoked meanwhile. A read may.
    const isAboutRows = isAnyAccepted && size < MAX_HELD;
    if (!isAboutRows || (await isKeyRefused(connection, resource, last.error, signal))) this.#refuse();
    else for (const refused of this.#held.release()) this.#reject(refused);
  }

  /**
   * Tries rows from all over the rest of the input, one at a time. Stops the batch if the service refuses all of them. Ends
   * early if they run into a limit: the check begins again with the next refusal.
   */
  async #probe(): Promise<void> {
    const { feed, send, idle, now } = this.#options;
    await idle();
    let refused = 0;
    for (let probe = 0; refused < MAX_PROBES && this.#held.size >= MAX_HELD; probe++) {
      if (!this.limited.mayTakeNew(now())) return;
      const { size } = this.#held;
      const task = await feed.takeAt(((probe % MAX_PROBES) + 0.5) / MAX_PROBES);
      if (task === null) return;
      this.limited.tookNew(now());
      await send(task);
      if (this.#held.size > size) refused++;
    }
    if (this.#held.size >= MAX_HELD) this.#refuse();
  }

  #refuse(): void {
    const { last, size } = this.#held;
    if (last !== null) this.#options.halt(refusedFailure(this.#options.resource, last.error, size));
  }

  /** The refusal has become the outcome of its row, unless an earlier request may have written the row. */
  #reject({ task, ...refusal }: RefusedRow): void {
    const { status, message } = said(refusal);
    if (refusal.inDoubt) this.#options.unclear(task, status, message);
    else this.#options.settle(task, { outcome: 'rejected', status, id: null, message });
  }
}

/** What the service said. */
function said({ error }: Refusal): { readonly status: number | null; readonly message: string } {
  return { status: error.status, message: error.serviceMessage ?? error.message };
}
