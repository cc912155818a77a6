import { MINUTE_MS } from '../../src/core/duration.js';

/** How long a batch waits for rows that the service refuses with words about a limit, and with nothing else. */
export const WORDS_BUDGET_MS = 15 * MINUTE_MS;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = MINUTE_MS;
/** Rows that wait at the same time before new rows follow slowly. */
const MAX_AT_ONCE = 4;

/** A row that waits for the end of a limit. */
interface Limited<Row> {
  readonly row: Row;
  /** Milliseconds since 1970. */
  readonly dueAt: number;
}

/**
 * Rows that the service refuses with words about a limit. Words are weak evidence, so all rows of a batch share one budget
 * of time. It ends when another row is accepted: then the limit, if it is one, is that of the refused row.
 */
export class LimitedRows<Row> {
  /** When the first of the current refusals arrived, in milliseconds since 1970; `null` if no row waits for a limit. */
  since: number | null;
  #waiting: Limited<Row>[] = [];
  /** When the next new row may be sent, in milliseconds since 1970. */
  #nextNew = 0;
  /** For each refused row, the order of its first refusal, and how often it has waited. */
  readonly #refused = new Map<Row, { readonly first: number; readonly waits: number }>();
  /** The order of the last request that was accepted. */
  #lastAccepted = -1;

  constructor(since: number | null) {
    this.since = since;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** While several rows wait, new rows follow slowly: one of them may be accepted, but not all may run into the limit. */
  mayTakeNew(now: number): boolean {
    return this.#waiting.length < MAX_AT_ONCE || now >= this.#nextNew;
  }

  /** A new row is about to be sent. */
  tookNew(now: number): void {
    const over = this.#waiting.length - MAX_AT_ONCE;
    if (over >= 0) this.#nextNew = now + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** over);
  }

  /** The service refuses a row. @param order the order of events when the refusal arrives */
  refused(row: Row, order: number): void {
    if (!this.#refused.has(row)) this.#refused.set(row, { first: order, waits: 0 });
  }

  /** @returns whether a refused row waits. Otherwise its refusal counts like any other. */
  wait(row: Row, now: number): boolean {
    const { first, waits } = this.#refused.get(row) ?? { first: 0, waits: 0 };
    const isOver = this.since !== null && now - this.since >= WORDS_BUDGET_MS;
    if (this.#lastAccepted > first || isOver) {
      this.#refused.delete(row);
      return false;
    }
    this.since ??= now;
    this.#refused.set(row, { first, waits: waits + 1 });
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** waits);
    this.#waiting.push({ row, dueAt: Math.min(now + wait, this.since + WORDS_BUDGET_MS) });
    return true;
  }

  /** The refusal of a row does not count as a limit. */
  forget(row: Row): void {
    this.#refused.delete(row);
  }

  /** A row was accepted. @param begun the order of its request */
  accepted(row: Row, begun: number): void {
    this.#refused.delete(row);
    this.#lastAccepted = Math.max(this.#lastAccepted, begun);
    this.since = null;
    // What still waits has its answer: it need not wait any longer.
    this.#waiting = this.#waiting.map((one) => ({ ...one, dueAt: 0 }));
  }

  /** Takes a row that is due; `null` if there is none. */
  takeDue(now: number): Row | null {
    const at = this.#waiting.findIndex(({ dueAt }) => dueAt <= now);
    return at === -1 ? null : this.#waiting.splice(at, 1)[0]!.row;
  }

  /** When the next row is due; `null` if no row waits. */
  get nextDue(): number | null {
    return this.#waiting.length === 0 ? null : Math.min(...this.#waiting.map(({ dueAt }) => dueAt));
  }
}
