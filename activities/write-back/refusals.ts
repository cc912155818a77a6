import type { ApplicationFailure } from '@temporalio/activity';
import { REFUSAL_REMEDY, RefusedError, type ServiceError } from '../../src/api/index.js';
import { finalFailure } from '../../src/run/failures.js';
import type { RowReceipt, Said } from '../../src/write-back/plan-file.js';
import { AlikeRejections, MAX_ALIKE } from './alike-rejections.js';
import type { ChunkFeed } from './chunk-feed.js';
import type { RowTask, SendAttemptOptions } from './open-chunk.js';
import type { Refusal } from './row-request.js';
import { endpointMissing } from './stop-reasons.js';
import { WAIT_BUDGET_MS, WaitingRows } from './waiting-rows.js';

/** A row whose refusal may pass, or may be its outcome. */
interface RefusedRow extends Refusal {
  readonly task: RowTask;
}

/** What the attempt does for its refused rows. */
interface RefusalActions {
  /** Sends a row and records the result. */
  readonly send: (task: RowTask) => Promise<void>;
  /** Waits until no request is in flight. */
  readonly idle: () => Promise<void>;
  /** Records the outcome of a row. */
  readonly settle: (task: RowTask, receipt: RowReceipt) => void;
  /** Records that the outcome of a row stays unknown in this run. */
  readonly unclear: (task: RowTask, said: Said) => void;
  /** Number of rows in a row that were sent and have no outcome. */
  readonly failures: () => number;
  /** Whether the service has accepted or rejected a row, in this attempt or an earlier one. */
  readonly answered: () => boolean;
  /** Ends the attempt. @param error `null`: too many rows have no outcome */
  readonly halt: (error: unknown) => void;
}

/**
 * Decides what answers mean that may pass (docs/explanation/guarantees.md#write-back): refusals, a 404, limits in words,
 * conflicts and failures. After too many refused or failed rows in a row, or rejections that are alike, it tries others.
 */
export class Refusals {
  readonly #options: SendAttemptOptions;
  readonly #feed: ChunkFeed;
  readonly #actions: RefusalActions;
  readonly #held = new HeldRows<RefusedRow>();
  readonly #failing = new Map<RowTask, number>();
  readonly #alike = new AlikeRejections<{ readonly task: RowTask; readonly receipt: RowReceipt }>();
  readonly waiting: WaitingRows<RowTask>;
  #accepted = false;
  /** The check whether the service refuses every row, or fails for every row. Meanwhile, no other row is sent. */
  probing: Promise<void> | null = null;

  constructor(options: SendAttemptOptions, feed: ChunkFeed, actions: RefusalActions) {
    this.#options = options;
    this.#feed = feed;
    this.#actions = actions;
    this.waiting = new WaitingRows(options.limitedSince);
  }

  /** Rows whose requests have failed, and that are not asked for again before another row is accepted. */
  get failing(): readonly RowTask[] {
    return [...this.#failing.keys()];
  }

  /** Returns the order of a request that begins now. */
  begin(): number {
    return this.#held.begin();
  }

  /** A row was accepted: rows whose answers arrived before its request began are asked for again. */
  accepted(task: RowTask, begun: number): void {
    this.#accepted = true;
    this.waiting.accepted(task, begun);
    const now = this.#now();
    for (const refused of this.#held.accepted(begun)) this.waiting.wait(refused.task, 'refused', now);
    for (const [failed, at] of this.#failing) {
      if (at > begun) continue;
      this.#failing.delete(failed);
      this.waiting.wait(failed, 'failing', now);
    }
    this.#releaseRejections();
  }

  /** A row was refused, or its place was not found. */
  refused(task: RowTask, refusal: Refusal): void {
    if (this.#settles(task, refusal, true)) return;
    this.#held.hold({ ...refusal, task });
    this.check();
  }

  /** The service speaks of a limit, and the request is repeated. */
  meetsLimit(task: RowTask): void {
    this.waiting.meets(task, { now: this.#now(), order: this.#held.begin(), sameness: LIMIT });
  }

  /** The service speaks of a limit, and of nothing else. */
  limited(task: RowTask, refusal: Refusal): void {
    if (this.#settles(task, refusal, true, LIMIT)) return;
    // If others are accepted, the limit is its own.
    const isOwn = this.waiting.isPassed(task);
    if (!isOwn && this.waiting.wait(task, 'words', this.#now())) return;
    this.#held.hold({ ...refusal, task });
    this.check();
  }

  /** Another request changes the same data. @param alone whether no other request of this attempt was in flight */
  conflict(task: RowTask, refusal: Refusal, alone: boolean): void {
    if (this.#settles(task, refusal, alone)) return;
    if (this.waiting.wait(task, 'conflict', this.#now(), refusal.error.retryAfterMs)) return;
    const { resource } = this.#options.input;
    this.#actions.halt(conflictFailure(resource, refusal.error));
  }

  /**
   * A request failed, and may have written the row.
   *
   * @param sameness equal for equal answers; `null`: there was no complete answer
   * @returns whether the row waits; otherwise it gets the same answer each time
   */
  failed(task: RowTask, sameness: string | null): boolean {
    const order = this.#held.begin();
    const answer = { now: this.#now(), order, sameness: sameness ?? `${order}`, counts: true };
    if (task.failing !== null) this.waiting.resume(task, task.failing);
    if (this.waiting.answered(task, answer)) return false;
    if (sameness !== null) task.chunk.failing(task.index, this.waiting.failureOf(task));
    this.#failing.set(task, order);
    return true;
  }

  /** Records what the next attempt must know of rows that fail. */
  end(): void {
    for (const task of [...this.#failing.keys(), ...this.waiting.rows])
      if (this.waiting.hasAcceptedSince(task)) task.chunk.passed(task.index);
  }

  /** Whether the rejection of a row is held: as long as no row was accepted, it may be about the whole file. */
  holdsRejection(task: RowTask, receipt: RowReceipt): boolean {
    if (this.#accepted || this.#options.hasAccepted) return false;
    if (!this.#alike.hold({ task, receipt }, receipt)) {
      this.#releaseRejections();
      return false;
    }
    this.#note(task, receipt, 'held');
    this.check();
    return true;
  }

  /** Tries other rows if too many in a row were refused or have failed. */
  check(): void {
    if (!this.#isStuck() || this.probing !== null) return;
    this.probing = this.#probe()
      .catch(this.#actions.halt)
      .finally(() => {
        this.probing = null;
      });
  }

  /** Decides about the held rows once every row was sent: no later row shows whether a refusal is about the row. */
  conclude(): void {
    this.#releaseRejections();
    if (this.#held.size > 0) this.#refuse();
  }

  /** Records the answer of a row. @returns whether it settles the row */
  #settles(task: RowTask, refusal: Refusal, counts: boolean, sameness = `${refusal.error.status}`): boolean {
    const words = said(refusal);
    const answer = { now: this.#now(), order: this.#held.begin(), sameness, counts };
    if (!this.waiting.answered(task, answer)) {
      this.#note(task, words, refusal.inDoubt ? 'tried' : 'held');
      return false;
    }
    if (refusal.inDoubt) this.#actions.unclear(task, words);
    else this.#actions.settle(task, { outcome: 'rejected', id: null, ...words });
    return true;
  }

  #note({ chunk, index }: RowTask, words: Said, what: 'tried' | 'held'): void {
    chunk.note(index, what, words);
    // Without this entry, a killed worker would leave it in doubt whether the row was written.
    chunk.flush().catch(this.#actions.halt);
  }

  #releaseRejections(): void {
    for (const { task, receipt } of this.#alike.release()) this.#actions.settle(task, receipt);
  }

  #isStuck(): boolean {
    if (this.#alike.largest >= MAX_ALIKE) return true;
    return Math.max(this.#held.size, this.#actions.failures()) >= MAX_IN_A_ROW;
  }

  /**
   * Tries rows from all over the rest of the input, one at a time, until the service answers for one of them. Stops the batch
   * if it refuses all of them, or rejects all of them alike, and ends the attempt if all of them fail. Ends early if they run
   * into a limit: the check begins again with the next refusal.
   */
  async #probe(): Promise<void> {
    const { send, idle, failures, halt } = this.#actions;
    const { fruitless } = this.#options;
    await idle();
    // While the service is down, each of them is one more row in doubt. A service that refuses rows is not down.
    const maxFailed = (): number =>
      this.#held.size >= MAX_IN_A_ROW ? MAX_PROBES : Math.max(1, Math.floor(MAX_PROBES / (1 + fruitless)));
    const offset = failures() > 0 ? Math.random() : 0;
    const held = (): number => this.#held.size + (this.#alike.largest >= MAX_ALIKE ? this.#alike.largest : 0);
    let [refused, failed] = [0, 0];
    for (let probe = 0; refused < MAX_PROBES && failed < maxFailed() && this.#isStuck(); probe++) {
      if (!this.waiting.mayTakeNew(this.#now())) break;
      const [heldBefore, failedBefore] = [held(), failures()];
      const task = await this.#feed.takeAt(((probe + 0.5) / MAX_PROBES + offset) % 1);
      if (task === null) return;
      this.waiting.tookNew(this.#now());
      await send(task);
      if (held() > heldBefore) [refused, failed] = [refused + 1, 0];
      if (failures() > failedBefore) failed++;
      // A rejection of another kind is about its row.
      if (held() === heldBefore && failures() === failedBefore) this.#releaseRejections();
    }
    if (refused === MAX_PROBES) this.#refuse();
    else if (failures() >= MAX_IN_A_ROW) halt(null);
  }

  /** Ends the batch: its held rows are not sent. */
  #refuse(): void {
    const { input, sending } = this.#options;
    const { resource } = input;
    const [alike] = this.#alike.release();
    const { last } = this.#held;
    if (last === null) {
      if (alike !== undefined) this.#actions.halt(alikeFailure(resource, alike.receipt));
      return;
    }
    const isMissing = !(last.error instanceof RefusedError);
    if (isMissing && !this.#actions.answered())
      this.#actions.halt(endpointMissing(resource, sending.path, this.#held.size));
    else this.#actions.halt(refusedFailure(resource, last.error, this.#held.size));
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function said({ error }: Refusal): Said {
  return { status: error.status, message: error.serviceMessage ?? error.message };
}

/** Words about a limit count as the same answer, whatever their status is. */
const LIMIT = 'limit';

/** The failure of a batch whose rows the service refuses. @param rows refused rows without an outcome */
function refusedFailure(resource: string, error: ServiceError, rows: number): ApplicationFailure {
  const { status } = error;
  const scope = error instanceof RefusedError ? error.scope : 'grant';
  const remedy =
    error instanceof RefusedError
      ? REFUSAL_REMEDY[scope]
      : 'The service, or something in front of it, does not know the path, or does not find the things in the rows.';
  const which = rows === 1 ? 'a row' : `${rows} rows`;
  return finalFailure(
    'Refused',
    `${resource}: the service refused ${which} with ${status}, and it is not shown that this is about the rows, so they count as ` +
      `not sent. ${remedy} Then run the same command again: it sends only rows that have no outcome yet. If these rows are never ` +
      'allowed, take them out of the file.',
    { scope, status, resource },
  );
}

/** The failure of a batch whose rows run into other requests. */
function conflictFailure(resource: string, { status }: ServiceError): ApplicationFailure {
  return finalFailure(
    'Transient',
    `gave up: ${resource}: the service answered ${status}, because other requests change the same data, and accepted no row for ` +
      `${WAIT_BUDGET_MS / 60_000} minutes. The rest is not sent: run the same command again later.`,
  );
}

/** The failure of a batch whose rows are all rejected for the same reason. */
function alikeFailure(resource: string, { status }: Said): ApplicationFailure {
  return finalFailure(
    'Transient',
    `${resource}: the service accepted no row, and rejected rows from all over the file with ${status} and the same words, so no ` +
      'further row was sent, and these count as not sent. Correct what all rows have in common, or the configuration, and run ' +
      'the command again.',
  );
}

/** After this many refused or failed rows in a row, the attempt tries others. */
export const MAX_IN_A_ROW = 8;
/** Rows that it tries then, spread over the rest of the input. */
const MAX_PROBES = 12;

/**
 * The refused rows of an attempt since the last accepted row. One refusal does not show whether it is about the row or about
 * the API key. Only if the service accepts a row whose request began after the refusal had arrived, it may have been about
 * the row (docs/explanation/guarantees.md#write-back).
 */
export class HeldRows<Row> {
  #now = 0;
  #held: { readonly row: Row; readonly at: number }[] = [];

  /** Number of refusals since the last accepted row. */
  get size(): number {
    return this.#held.length;
  }

  /** The last refused row; `null` if there is none. */
  get last(): Row | null {
    return this.#held.at(-1)?.row ?? null;
  }

  /** Returns the order of a request that begins now. */
  begin(): number {
    return ++this.#now;
  }

  /** Holds a row whose refusal arrives now. */
  hold(row: Row): void {
    this.#held.push({ row, at: ++this.#now });
  }

  /** @param begun the order of an accepted request @returns the rows that were refused before it began */
  accepted(begun: number): Row[] {
    const about = this.#held.filter(({ at }) => at < begun);
    this.#held = this.#held.filter(({ at }) => at > begun);
    return about.map(({ row }) => row);
  }
}
