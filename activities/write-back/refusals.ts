import type { ApplicationFailure } from '@temporalio/activity';
import { REFUSAL_REMEDY, RefusedError, refusalScope } from '../../src/api/index.js';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import type { OpenConnection } from '../../src/run/deps.js';
import { finalFailure } from '../../src/run/failures.js';
import type { RowReceipt, Said } from '../../src/write-back/plan-file.js';
import type { ChunkFeed } from './chunk-feed.js';
import type { RowTask, SendAttemptOptions } from './open-chunk.js';
import type { Refusal } from './row-request.js';
import { hasAcceptedRow } from './stored-batch.js';

interface RefusedRow extends Refusal {
  readonly task: RowTask;
}

/** What the attempt does for its refused rows. */
interface RefusalActions {
  readonly signal: AbortSignal;
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
  /** Ends the attempt. @param error `null`: too many rows have no outcome */
  readonly halt: (error: unknown) => void;
}

/**
 * Decides what refused rows mean (docs/explanation/guarantees.md#write-back): rows that may not be written, an API key that
 * the service does not accept any more, or a limit. After too many refused or failed rows in a row, it tries others.
 */
export class Refusals {
  readonly #options: SendAttemptOptions;
  readonly #feed: ChunkFeed;
  readonly #actions: RefusalActions;
  readonly #held = new HeldRows<RefusedRow>();
  readonly limited: LimitedRows<RowTask>;
  #accepted = false;
  /** The check whether the service refuses every row, or fails for every row. Meanwhile, no other row is sent. */
  probing: Promise<void> | null = null;

  constructor(options: SendAttemptOptions, feed: ChunkFeed, actions: RefusalActions) {
    this.#options = options;
    this.#feed = feed;
    this.#actions = actions;
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

  /** Holds a refused row. */
  hold(task: RowTask, refusal: Refusal): void {
    this.limited.forget(task);
    const { chunk, index } = task;
    chunk.note(index, refusal.inDoubt ? 'tried' : 'held', said(refusal));
    // Without this entry, a killed worker would leave it in doubt whether the row was written.
    chunk.flush().catch(this.#actions.halt);
    this.#held.hold({ ...refusal, task });
    this.check();
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

  /** Lets a row wait for the end of a limit. @returns whether it waits; otherwise its refusal is held */
  limit(task: RowTask, refusal: Refusal): boolean {
    const waits = this.limited.wait(task, this.#options.deps.now());
    if (!waits) this.hold(task, refusal);
    return waits;
  }

  /** Decides about the held rows once every row was sent. */
  async conclude(): Promise<void> {
    const { connection, input, logs } = this.#options;
    const { last, size } = this.#held;
    if (last === null) return;
    const isAnyAccepted = this.#accepted || (await hasAcceptedRow(connection.store, logs, input.run));
    // No later row shows whether the key was revoked meanwhile. A read may.
    const isAboutRows = isAnyAccepted && size < MAX_IN_A_ROW;
    if (!isAboutRows || (await isKeyRefused(connection, input.resource, last.error, this.#actions.signal)))
      this.#refuse();
    else for (const refused of this.#held.release()) this.#reject(refused);
  }

  #isStuck(): boolean {
    return Math.max(this.#held.size, this.#actions.failures()) >= MAX_IN_A_ROW;
  }

  /**
   * Tries rows from all over the rest of the input, one at a time, until the service answers for one of them. Stops the batch
   * if it refuses all of them, and ends the attempt if all of them fail. Ends early if they run into a limit: the check
   * begins again with the next refusal.
   */
  async #probe(): Promise<void> {
    const { send, idle, failures, halt } = this.#actions;
    const { deps, fruitless } = this.#options;
    await idle();
    // While the service is down, each of them is one more row in doubt. A service that refuses rows is not down.
    const maxFailed = (): number =>
      this.#held.size >= MAX_IN_A_ROW ? MAX_PROBES : Math.max(1, Math.floor(MAX_PROBES / (1 + fruitless)));
    const offset = failures() > 0 ? Math.random() : 0;
    let [refused, failed] = [0, 0];
    for (let probe = 0; refused < MAX_PROBES && failed < maxFailed() && this.#isStuck(); probe++) {
      if (!this.limited.mayTakeNew(deps.now())) break;
      const [heldBefore, failedBefore] = [this.#held.size, failures()];
      const task = await this.#feed.takeAt(((probe + 0.5) / MAX_PROBES + offset) % 1);
      if (task === null) return;
      this.limited.tookNew(deps.now());
      await send(task);
      if (this.#held.size > heldBefore) [refused, failed] = [refused + 1, 0];
      if (failures() > failedBefore) failed++;
    }
    if (refused === MAX_PROBES) this.#refuse();
    else if (failures() >= MAX_IN_A_ROW) halt(null);
  }

  #refuse(): void {
    const { last, size } = this.#held;
    if (last !== null) this.#actions.halt(refusedFailure(this.#options.input.resource, last.error, size));
  }

  /** The refusal has become the outcome of its row, unless an earlier request may have written the row. */
  #reject({ task, ...refusal }: RefusedRow): void {
    const { settle, unclear } = this.#actions;
    if (refusal.inDoubt) unclear(task, said(refusal));
    else settle(task, { outcome: 'rejected', id: null, ...said(refusal) });
  }
}

function said({ error }: Refusal): Said {
  return { status: error.status, message: error.serviceMessage ?? error.message };
}

/** The failure of a batch whose rows the service refuses. @param rows refused rows without an outcome */
function refusedFailure(resource: string, { scope, status }: RefusedError, rows: number): ApplicationFailure {
  const which = rows === 1 ? 'a row' : `${rows} rows in a row`;
  return finalFailure(
    'Refused',
    `${resource}: the service refused ${which} with ${status}, and accepted none after that. ${REFUSAL_REMEDY[scope]} ` +
      'If only these rows are not allowed, correct them or take them out. ' +
      'Then run the same command again: it sends only rows that have no outcome yet.',
    { scope, status, resource },
  );
}

/** After this many refused or failed rows in a row, the attempt tries others. */
export const MAX_IN_A_ROW = 8;
/** Rows that it tries then, spread over the rest of the input. */
const MAX_PROBES = 12;

/**
 * The refused rows of an attempt. One refusal does not show whether it is about the row or about the API key. It was about
 * the row if the service accepts a row whose request began after the refusal had arrived. Only then is it the row's
 * outcome (docs/explanation/guarantees.md#write-back).
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

  /** Returns all held rows, and holds them no longer. */
  release(): Row[] {
    const rows = this.#held.map(({ row }) => row);
    this.#held = [];
    return rows;
  }
}

/** How long a batch waits for rows that the service refuses with words about a limit, and with nothing else. */
export const WORDS_BUDGET_MS = 15 * MINUTE_MS;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = MINUTE_MS;
/** Rows that wait at the same time before new rows follow slowly. */
const MAX_AT_ONCE = 4;

/**
 * Rows that the service refuses with words about a limit. Words are weak evidence, so all rows of a batch share one budget
 * of time. It ends when another row is accepted: then the limit, if it is one, is that of the refused row.
 */
export class LimitedRows<Row> {
  /** When the first of the current refusals arrived, in milliseconds since 1970; `null` if no row waits for a limit. */
  since: number | null;
  /** `dueAt`: milliseconds since 1970. */
  #waiting: { readonly row: Row; readonly dueAt: number }[] = [];
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

/**
 * Whether the service refuses the API key itself: it also refuses to read the resource, in words about the key or the plan,
 * or in the same words as for the row. A key may lack the grant to read; such a refusal, and any other response, shows
 * nothing. Never throws.
 *
 * @param refused the refusal of a row
 */
async function isKeyRefused(
  { client, settings }: OpenConnection,
  resource: WritableResource,
  refused: RefusedError | null,
  signal: AbortSignal,
): Promise<boolean> {
  const mirrored = settings.resources.find(({ name }) => name === resource);
  const path = mirrored?.path ?? settings.writeBack[resource].path;
  try {
    const request = { resource, path, limit: 1, cursor: null, updatedSince: null, signal };
    await client.listPage(request, () => null);
    return false;
  } catch (error) {
    if (!(error instanceof RefusedError) || error.status === null) return false;
    const isAlike = error.status === refused?.status && error.serviceMessage === refused.serviceMessage;
    return isAlike || refusalScope(error.status, error.serviceMessage) !== 'grant';
  }
}
