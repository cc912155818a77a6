import type { EpochMs } from '../../src/core/brands.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import type { RepeatedFailure } from '../../src/write-back/plan-file.js';

/** How long a batch waits for limits in words and for conflicts while no row is accepted. */
export const WAIT_BUDGET_MS = 15 * MINUTE_MS;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = MINUTE_MS;
/** Rows that wait for a limit before new rows follow slowly; and rows that wait for anything. */
const MAX_LIMITED = 4;
const MAX_WAITING = 1_000;

/** How often, and for how long, a row must be asked for again until its answer settles it. */
const REPEATS = 3;
const SPAN_MS = MINUTE_MS;

/** Why a row waits: a refusal that may pass, words about a limit, another request that changes the same data, a failure. */
export type WaitKind = 'refused' | 'words' | 'conflict' | 'failing';

export interface Answer {
  readonly now: EpochMs;
  /** The order of events when the answer arrives. */
  readonly order: number;
  /** What must be equal in all answers that settle a row. */
  readonly sameness: string;
  /** Whether the request can count as a repetition: that of a conflict only if no other request was in flight. */
  readonly counts: boolean;
}

interface Asked extends Omit<RepeatedFailure, 'isPassed'> {
  /** The order of the last answer that counts. */
  readonly order: number;
  readonly waits: number;
}

/** The order of events before this attempt. */
const BEFORE_ALL = -1;

/**
 * Rows whose answers may pass. An answer settles a row only if the row, asked for again `REPEATS` times over at least `SPAN_MS`, each time after
 * another row was accepted, gets it again: one answer does not show whether it is about the row.
 */
export class WaitingRows<Row> {
  /** Since when no row was accepted while rows wait for a limit or a conflict; `null`: no row does. */
  since: EpochMs | null;
  /** `notBefore`: what the service asks for. */
  #waiting: {
    readonly row: Row;
    readonly kind: WaitKind;
    readonly notBefore: number;
    readonly dueAt: number;
  }[] = [];
  /** When the next new row may be sent. */
  #nextNew: EpochMs = 0;
  readonly #asked = new Map<Row, Asked>();
  /** The order of the last accepted request. */
  #lastAccepted = BEFORE_ALL;

  constructor(since: number | null) {
    this.since = since;
  }

  get size(): number {
    return this.#waiting.length;
  }

  get rows(): readonly Row[] {
    return this.#waiting.map(({ row }) => row);
  }

  /** While rows wait for a limit, new rows follow slowly: one of them may be accepted, but not all may run into it. */
  mayTakeNew(now: number): boolean {
    return this.#over() < 0 || now >= this.#nextNew;
  }

  /** A new row is about to be sent. */
  tookNew(now: number): void {
    const over = this.#over();
    if (over >= 0) this.#nextNew = now + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** over);
  }

  #over(): number {
    if (this.#waiting.length >= MAX_WAITING) return 0;
    return this.#waiting.filter(({ kind }) => kind === 'words').length - MAX_LIMITED;
  }

  /** Records an answer that may pass. @returns whether it settles its row */
  answered(row: Row, { now, order, sameness, counts }: Answer): boolean {
    const before = this.#asked.get(row);
    if (before === undefined || before.sameness !== sameness) {
      this.#asked.set(row, {
        sameness,
        firstAt: now,
        lastAt: now,
        order,
        repeats: 0,
        waits: before?.waits ?? 0,
      });
      return false;
    }
    const isRepeat = counts && this.hasAcceptedSince(row);
    const repeats = before.repeats + (isRepeat ? 1 : 0);
    const asked = { ...before, lastAt: now, order: isRepeat ? order : before.order, repeats };
    this.#asked.set(row, asked);
    return repeats >= REPEATS && now - before.firstAt >= SPAN_MS;
  }

  /** Records the first answer of a row whose request is repeated without waiting here. */
  meets(row: Row, { now, order, sameness }: Omit<Answer, 'counts'>): void {
    if (!this.#asked.has(row)) this.answered(row, { now, order, sameness, counts: false });
  }

  /** Continues with what an earlier attempt has recorded of a row, unless the row was asked for in this one. */
  resume(row: Row, { isPassed, ...failure }: RepeatedFailure): void {
    const order = isPassed === true ? BEFORE_ALL - 1 : BEFORE_ALL;
    if (!this.#asked.has(row)) this.#asked.set(row, { ...failure, order, waits: 0 });
  }

  /** What the next attempt must know of the last answer of a row. */
  failureOf(row: Row): RepeatedFailure {
    const { sameness, firstAt, lastAt, repeats } = this.#asked.get(row)!;
    return { sameness, firstAt, lastAt, repeats };
  }

  /** Whether another row was accepted since the last answer of the row that counts. */
  hasAcceptedSince(row: Row): boolean {
    const asked = this.#asked.get(row);
    return asked !== undefined && this.#lastAccepted > asked.order;
  }

  /** Whether other rows were accepted between two answers of the row. */
  isPassed(row: Row): boolean {
    return (this.#asked.get(row)?.repeats ?? 0) > 0;
  }

  /**
   * Lets a row wait until it is asked for again.
   *
   * @param askedMs the wait that the service asks for
   * @returns false: no row was accepted for so long that waiting has no sense
   */
  wait(row: Row, kind: WaitKind, now: number, askedMs: number | null = null): boolean {
    const asked = this.#asked.get(row)!;
    const isShared = kind === 'words' || kind === 'conflict';
    // Another worker's clock may have been ahead.
    if (isShared && this.since !== null && this.since > now) this.since = now;
    if (isShared && this.since !== null && now - this.since >= WAIT_BUDGET_MS) return false;
    if (isShared) this.since ??= now;
    this.#asked.set(row, { ...asked, waits: asked.waits + 1 });
    const notBefore = now + (askedMs ?? 0);
    const dueAt = Math.max(notBefore, now + waitMs(asked.waits));
    const end = isShared ? this.since! + WAIT_BUDGET_MS : Number.POSITIVE_INFINITY;
    this.#waiting.push({ row, kind, notBefore, dueAt: Math.min(dueAt, end) });
    return true;
  }

  /** A row was accepted. @param begun the order of its request */
  accepted(row: Row, begun: number): void {
    this.#asked.delete(row);
    this.#lastAccepted = Math.max(this.#lastAccepted, begun);
    this.since = null;
    // What they wait for may have passed. Rows that were asked for again after other accepted rows wait longer each time.
    this.#waiting = this.#waiting.map((one) => {
      const { lastAt, repeats } = this.#asked.get(one.row)!;
      return { ...one, dueAt: Math.max(one.notBefore, Math.min(one.dueAt, lastAt + waitMs(repeats))) };
    });
  }

  /** Takes a row that is due and may be sent; `null` if there is none. */
  takeDue(now: number, maySend: (row: Row) => boolean = () => true): Row | null {
    const at = this.#waiting.findIndex(({ row, dueAt }) => dueAt <= now && maySend(row));
    return at === -1 ? null : this.#waiting.splice(at, 1)[0]!.row;
  }

  /** When the next row is due; `null` if no row waits. */
  get nextDue(): number | null {
    return this.#waiting.length === 0 ? null : Math.min(...this.#waiting.map(({ dueAt }) => dueAt));
  }
}

function waitMs(waits: number): number {
  return Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(waits, 10));
}
