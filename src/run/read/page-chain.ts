import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import {
  isTooLarge,
  type ListBody,
  listName,
  mayBeTooHeavy,
  NotFoundError,
  type ReceivedPage,
  RejectedError,
  type ServiceClient,
  ServiceError,
} from '../../api/index.js';
import { peekNextCursor } from '../../api/json/page.js';
import { withResponse } from '../../api/json/read-evidence.js';
import type { Cursor, EpochMs, UtcSeconds } from '../../core/brands.js';
import { formatDuration } from '../../core/duration.js';
import {
  doubtOf,
  END_MARK,
  NOTHING_READ,
  type ReadingEvidence,
  shortfall,
  withPage,
} from '../../core/list-evidence.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { ClockTimes } from '../../lake/documents/manifest.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { SortKey } from '../../lake/rows/row.js';
import { finalFailure, transientFailure } from '../failures.js';
import { showsSame, timesOf } from './continue-by-time.js';
import { dueAdvice } from './due-advice.js';
import type { Page, PageReader } from './page-reader.js';
import { cursorHash } from './position.js';
import { type ChainPosition, PrefetchedPage } from './prefetched-page.js';
import { totalTrust } from './read-stage.js';
import { isSmallest, otherFirstPage, smallerPages } from './smaller-pages.js';
import { updatedSinceAfterSetback, updatedSinceFor } from './watermark.js';

/** How often a list is read again from its beginning because a cursor expired. The first time, with larger pages. */
const MAX_RESTARTS = 2;
/** The larger pages, if cursors may live shorter than the reading takes: so many times the size, and at most so many records. */
const LARGER = { times: 10, most: 10_000 };
/** How often the first page is requested with an earlier `updatedSince`. After that, everything is read. */
const MAX_SETBACKS = 3;
/** Failures of one page before a smaller one is tried. */
const MAX_FAILURES = 3;
/** A longer cursor does not fit into the first line of a request (RFC 9112 section 3 recommends 8,000 octets). */
const MAX_CURSOR_BYTES = 64 * 1024;
/** Reading a page blocks the event loop. Before that, the next request gets this long to be sent; ms. */
const SENDING_MS = 1;

/** Waits that long, and then for what has arrived meanwhile: a connection that is still busy takes the request only after that. */
async function sent(): Promise<void> {
  await delay(SENDING_MS);
  await setImmediate();
}

/** Page size in characters above which the next page is not prefetched, because both bodies would be in memory. */
const LARGE_PAGE_CHARS = 4 * 1024 * 1024;

export interface PageOptions {
  readonly client: ServiceClient;
  readonly run: RunFile;
  readonly reader: PageReader;
  readonly signal: AbortSignal;
  /** As in the stage. */
  readonly orSince?: UtcSeconds | undefined;
  /** As in the stage: of the chain's pages before this call. */
  readonly evidence: ReadingEvidence;
  /** The workflows' clock. */
  readonly now: () => EpochMs;
  /** The moment that `updatedSince` counts from; `null`: it is not compared with the clocks. */
  readonly upTo: ClockTimes | null;
  readonly onWait: (until: number) => void;
  /** Called when the page size was reduced. */
  readonly onShrink?: (note: { from: number; to: number; error: string }) => void;
  /** Called when the service refused a time of changes. */
  readonly onRefused?: (note: { updatedSince: UtcSeconds; says: string }) => void;
  /** The reading ends after so many pages of this call. Default: when its list does. */
  readonly mostPages?: number | undefined;
  /** Whether the call must end, for example because the worker is shutting down. The next call then reads the next page. */
  readonly mustEnd: () => boolean;
}

interface Ask {
  /** Resolves when the page may be read. Reading it earlier would add the columns of a page that is dropped. */
  readonly turn?: Promise<void>;
  readonly onPrefetchWait?: () => void;
  /** `single`: without a retry, and without a request for the page after it. */
  readonly attempt?: 'single';
}

/** A page and the position of the page after it. */
export interface FetchedPage {
  readonly received: ReceivedPage<Page>;
  readonly next: ChainPosition;
  readonly done: boolean;
}

/** A page with records in the order of their times. */
interface ShownPage {
  readonly keys: readonly SortKey[];
  /** Time of the first record. */
  readonly first: EpochMs;
}

/**
 * Reads one list page by page. Follows opaque cursors (docs/explanation/guarantees.md#cursors) and finds a page size that
 * the service accepts (docs/explanation/guarantees.md#page-size). Requests the next page as soon as the body of the current
 * page has arrived, before that body is parsed.
 */
export class PageChain {
  readonly #options: PageOptions;
  readonly #seen: Set<string>;
  #at: ChainPosition;
  /** Pages of the current chain, as far as this call has read it. */
  #pages = 0;
  /** What all pages of the current chain say. */
  #evidence: ReadingEvidence;
  /** When the current chain began, or this call, on the workflows' clock. */
  #began: number;
  /** The last page size that the service has accepted, rows. */
  #accepted: number;
  /** How often the first page was requested again because of a clock. */
  #setbacks = 0;
  /** Whether the service has rejected the current cursor once. */
  #retried = false;
  /** The last page with records in the order of their times; `null`: there is none, or an earlier call has read it. */
  #last: ShownPage | null = null;
  #prefetched: PrefetchedPage<ReceivedPage<Page>> | null = null;
  /** Pages that have arrived, without those that were dropped. */
  #arrived = 0;
  readonly #closing = new AbortController();
  /** Aborted when the reading has to end. */
  readonly signal: AbortSignal;

  constructor(options: PageOptions, at: ChainPosition, seen: Set<string>) {
    this.#options = options;
    const { cursor, updatedSince, chain, restarts, shrinks, pageSize, refusedSince, latest, round } = at;
    this.#at = { cursor, updatedSince, chain, restarts, shrinks, pageSize, refusedSince, latest, round };
    this.#seen = seen;
    this.#evidence = options.evidence;
    const isFirst = chain === 0 && cursor === null;
    this.#accepted = isFirst ? (options.run.acceptedPageSize ?? pageSize) : pageSize;
    this.#began = options.now();
    this.signal = AbortSignal.any([options.signal, this.#closing.signal]);
  }

  /** Whether a page arrived and was not dropped. */
  get hasArrived(): boolean {
    return this.#arrived > 0;
  }

  /** Cancels the request for a prefetched page that is no longer needed. */
  close(): void {
    this.#prefetched?.discard();
    this.#closing.abort();
  }

  /** Whether the call ends after this page. If the next page is already in flight, the call waits for it. */
  endsAfter({ done }: FetchedPage): boolean {
    const prefetched = this.#prefetched;
    const isComing = prefetched?.isFor(this.#at) === true && prefetched.isUnderWay;
    return done || (this.#options.mustEnd() && !isComing);
  }

  /** Reads the next page. Wait for the result before the next call. */
  async next(): Promise<FetchedPage> {
    for (;;) {
      try {
        const received = await this.#request().catch((error: unknown) => this.#lighten(error));
        const updatedSince = this.#sinceByClocks(received);
        if (updatedSince === this.#at.updatedSince) return this.#accept(received);
        this.#at = { ...this.#at, updatedSince };
        this.#drop(received.value);
      } catch (error) {
        if (!(error instanceof RejectedError || error instanceof NotFoundError)) throw error;
        if (this.#at.cursor === null) this.#otherFirstPage(error);
        else await this.#afterExpiry(error);
      }
    }
  }

  #request(): Promise<ReceivedPage<Page>> {
    const prefetched = this.#prefetched;
    this.#prefetched = null;
    if (prefetched?.isFor(this.#at)) return prefetched.take();
    prefetched?.discard();
    return this.#ask(this.#at, {});
  }

  async #ask(at: ChainPosition, { turn, onPrefetchWait, attempt }: Ask): Promise<ReceivedPage<Page>> {
    const { client, run, reader, onWait } = this.#options;
    const { name, path, params } = run.resource;
    let failures = 0;
    const mostFailures = attempt === 'single' ? 1 : MAX_FAILURES;
    const isAgain = at.cursor === null && at.restarts + at.shrinks > 0;
    const page = await client.listPage(
      {
        resource: name,
        path,
        params,
        limit: at.pageSize,
        cursor: at.cursor,
        updatedSince: at.round?.since ?? at.updatedSince,
        wasRead: run.before?.list.path === listName(run.resource),
        signal: this.signal,
        onWait: (until) => {
          onPrefetchWait?.();
          onWait(until);
        },
        mayRetry: (error) => !mayBeTooHeavy(error) || ++failures < mostFailures,
      },
      async (body, response) => {
        this.#arrived++;
        try {
          await turn;
          if (attempt !== 'single' && this.#prefetch(at, body)) await sent();
          const mayBeNull = at.cursor === null && at.updatedSince !== null && !isAgain;
          const page = await reader.read(body, mayBeNull ? 'empty' : 'wrong');
          return { ...page, evidence: withResponse(page.evidence, response) };
        } catch (error) {
          this.#arrived--;
          throw error;
        }
      },
    );
    // Otherwise the list would count as complete with the pages that came before it began again.
    if (isAgain && page.isBlank) {
      this.#drop(page.value);
      throw transientFailure(
        `${name}: the list was read again from its beginning, and now has an empty body, although it had more than one page ` +
          'before. Perhaps a proxy answers for the service.',
      );
    }
    return page;
  }

  #drop(page: Page): void {
    this.#arrived--;
    this.#options.reader.release(page);
  }

  /** Starts the request for the next page. Returns whether one was started. */
  #prefetch(at: ChainPosition, body: ListBody): boolean {
    const { upTo, mustEnd } = this.#options;
    // The first page of changes may be requested again with an earlier `updatedSince` (see `#sinceByClocks`).
    const isUncertain = at.cursor === null && upTo !== null;
    const isLast = (at.cursor === null ? 0 : this.#pages) + 1 >= this.#mostPages;
    if (body.length > LARGE_PAGE_CHARS || isUncertain || isLast || mustEnd()) return false;
    const cursor = peekNextCursor(body);
    if (cursor === null || this.#seen.has(cursorHash(cursor)) || this.#isEnd(cursor)) return false;
    const next = { ...at, cursor };
    if (this.#prefetched?.isFor(next)) return false;
    // The previous body was truncated and the request was repeated: its prefetched page has a different cursor.
    this.#prefetched?.discard();
    this.#prefetched = new PrefetchedPage(next, (turn, onPrefetchWait) =>
      this.#ask(next, { turn, onPrefetchWait }),
    );
    return true;
  }

  /**
   * The `updatedSince` for the first page of changes, by its `Date` header. If it differs from the requested one, because a
   * clock was set back, the page is requested again.
   */
  #sinceByClocks({ serviceDate }: ReceivedPage<Page>): UtcSeconds | null {
    const { run, now, upTo } = this.#options;
    const { cursor, updatedSince, round } = this.#at;
    if (round !== undefined || upTo === null || cursor !== null || updatedSince === null) return updatedSince;
    const since = updatedSinceAfterSetback(
      updatedSince,
      upTo,
      { workflow: now(), service: serviceDate },
      run.sync,
    );
    if (since === updatedSince) return since;
    // A clock that goes back with each response says nothing.
    return ++this.#setbacks > MAX_SETBACKS ? null : since;
  }

  /**
   * After a failure that a smaller page may avoid, looks for a size that works, and continues with it.
   *
   * In an outage every size fails, and the request is repeated later as it is. If a smaller page works, the outage may just
   * have ended, so the page that failed is requested once more. Only if it fails again, its size is the cause.
   *
   * @returns the page to continue with; the position of the chain is then that of this page
   * @throws the failure if no size works
   */
  async #lighten(error: unknown): Promise<ReceivedPage<Page>> {
    const tooLarge = isTooLarge(error);
    if (!tooLarge && !mayBeTooHeavy(error)) throw error;
    const from = this.#at;
    if (isSmallest(from)) return this.#atSmallest(error, from);
    for (const smaller of smallerPages(from)) {
      const page = await this.#try(smaller);
      if (page === null) continue;
      const again = tooLarge ? null : await this.#try(from);
      if (again !== null) {
        this.#drop(page.value);
        return again;
      }
      if (from.cursor !== null) this.#seen.clear();
      this.#at = smaller;
      this.#options.onShrink?.({
        from: from.pageSize,
        to: smaller.pageSize,
        error: (error as Error).message,
      });
      return page;
    }
    throw error;
  }

  /** Requests a page once. Returns `null` if it may be too heavy, or has a size that the service rejects. */
  async #try(at: ChainPosition): Promise<ReceivedPage<Page> | null> {
    try {
      return await this.#ask(at, { attempt: 'single' });
    } catch (error) {
      if (mayBeTooHeavy(error) || isTooLarge(error) || error instanceof RejectedError) return null;
      throw error;
    }
  }

  /**
   * After a failure of a page that cannot be smaller. If the service answers another page, the outage may just have ended, so the page
   * is requested once more.
   *
   * @returns the page
   * @throws the failure, final if other pages work
   */
  async #atSmallest(error: unknown, from: ChainPosition): Promise<ReceivedPage<Page>> {
    const first = await this.#try({ ...from, cursor: null });
    if (first === null || !(error instanceof ServiceError)) throw error;
    this.#drop(first.value);
    const again = isTooLarge(error) ? null : await this.#try(from);
    if (again !== null) return again;
    throw this.#unreachable(error, from);
  }

  /** The failure of a page that fails at every size, although the service answers others: its place can be said. */
  #unreachable(error: ServiceError, from: ChainPosition): Error {
    const { name } = this.#options.run.resource;
    return finalFailure(
      'Transient',
      `${name}: the page after record ${this.#evidence.records} (page ${this.#pages + 1}) fails with each of ${1 + from.shrinks} page sizes, ` +
        `down to ${from.pageSize} records, although other pages work. What is behind it cannot be reached${this.#shortfall()}. Nothing was ` +
        `published. ${sentence(error.message)} Report it to the service's support.${dueAdvice(this.#options.run)}`,
      { resource: name },
    );
  }

  #accept(received: ReceivedPage<Page>): FetchedPage {
    const cursor = received.value.nextCursor;
    const nextCursor = cursor === null || this.#isEnd(cursor) ? null : cursor;
    this.#retried = false;
    this.#accepted = this.#at.pageSize;
    if (nextCursor !== null && Buffer.byteLength(nextCursor) > MAX_CURSOR_BYTES)
      throw this.#longCursor(nextCursor);
    if (nextCursor !== null) {
      const hash = cursorHash(nextCursor);
      if (this.#seen.has(hash)) throw this.#loops(nextCursor);
      this.#seen.add(hash);
    }
    const isFirst = this.#at.cursor === null;
    const { evidence, records } = received.value;
    this.#pages = isFirst ? 1 : this.#pages + 1;
    this.#evidence = withPage(isFirst ? NOTHING_READ : this.#evidence, evidence, records);
    this.#at = { ...this.#at, cursor: nextCursor, latest: this.#latestWith(received.value) };
    return { received, next: this.#at, done: nextCursor === null || this.#pages >= this.#mostPages };
  }

  get #mostPages(): number {
    return this.#options.mostPages ?? Number.POSITIVE_INFINITY;
  }

  /** Follows the order of a list whose cursors have ended before it did. Any other needs no look at its times. */
  #latestWith(page: Page): number | null | undefined {
    const { cursor, restarts, round, latest } = this.#at;
    if ((restarts === 0 && round === undefined) || page.records === 0)
      return cursor === null ? undefined : latest;
    const { run, reader } = this.#options;
    const times = timesOf(page, reader.columns.names, run.resource);
    const before = cursor === null ? undefined : latest;
    this.#last = times === null ? null : { keys: page.rows.keys(), first: times.first };
    return times === null || before === null || (before !== undefined && times.first < before)
      ? null
      : times.last;
  }

  #isEnd(cursor: Cursor): boolean {
    return this.#options.run.sync.endCursors.includes(cursor);
  }

  #longCursor(cursor: Cursor): Error {
    const { name } = this.#options.run.resource;
    return finalFailure(
      'BrokenPromise',
      `${name}: the service returned a nextCursor of ${Buffer.byteLength(cursor)} bytes; at most ${MAX_CURSOR_BYTES} can be ` +
        "sent back. Nothing was published. Report it to the service's support.",
      { resource: name },
    );
  }

  /** A short cursor, returned again or sent last, may be a mark of the end: some services begin the list again at it. */
  #loops(repeated: Cursor): Error {
    const { resource } = this.#options.run;
    const { updatedSince, cursor } = this.#at;
    const mark = [repeated, cursor].find((one) => one !== null && END_MARK.test(one));
    const advice =
      mark === undefined
        ? "Report it to the service's support."
        : `If ${JSON.stringify(mark)} marks the end of the list, set \`sync.endCursors: [${JSON.stringify(mark)}]\`. Otherwise, report it to the service's support.`;
    return finalFailure(
      'BrokenPromise',
      `${resource.name}: the service returned the same nextCursor twice within one reading of the list ` +
        `(updatedSince ${updatedSince ?? 'absent'}). Nothing was published. ${advice}${dueAdvice(this.#options.run)}`,
      { resource: resource.name },
    );
  }

  /** After a rejected first page, chooses another request for it. A 404 is final, and so is a 410. */
  #otherFirstPage(error: RejectedError | NotFoundError): void {
    if (this.#at.round !== undefined) throw this.#expires(error);
    if (error instanceof NotFoundError) throw this.#noList('has no list', 404);
    const { status, serviceMessage, details } = error;
    const says = serviceMessage ?? '';
    const { orSince } = this.#options;
    const rejection = { status, message: says, details };
    const other = otherFirstPage(this.#at, rejection, { orSince, accepted: this.#accepted });
    if (other === null)
      throw status === 410 ? this.#noList(`has ended the list (${says || 'no reason'})`, 410) : error;
    const { at, refused } = other;
    if (refused !== undefined) this.#options.onRefused?.({ updatedSince: refused, says });
    this.#at = at;
  }

  #noList(what: string, status: number): Error {
    const { name, path } = this.#options.run.resource;
    return finalFailure(
      'BrokenPromise',
      `${name}: the service ${what} at "${path}" (${status}). Correct the resource's \`path\` in the configuration, or remove the resource.`,
      { resource: name },
    );
  }

  /** After a cursor is rejected twice, continues from the last time that was seen, or from the list's beginning. */
  async #afterExpiry(error: RejectedError | NotFoundError): Promise<void> {
    const isFirst = !this.#retried;
    this.#retried = isFirst;
    if (isFirst || (await this.#continueByTime())) return;
    if (this.#at.round !== undefined) throw this.#expires(error);
    this.#restartList(error);
  }

  /**
   * Requests the rest of the list by time (docs/explanation/guarantees.md#cursors). Its records so far must
   * be in the order of their times, and the service must show the last page again when it is asked by time.
   *
   * @returns whether it can
   */
  async #continueByTime(): Promise<boolean> {
    const { latest, round, chain } = this.#at;
    if (typeof latest !== 'number') return false;
    // The service has shown before the first part that it can be asked by time, perhaps to an earlier call.
    if (round === undefined ? !(await this.#isShownByTime(this.#last)) : latest <= round.after) return false;
    const since = updatedSinceFor(latest, this.#options.run.sync);
    this.#seen.clear();
    this.#at = {
      ...{ ...this.#at, cursor: null, chain: chain + 1, latest: undefined },
      round: { number: (round?.number ?? 0) + 1, since, after: latest },
    };
    this.#began = this.#options.now();
    return true;
  }

  async #isShownByTime(last: ShownPage | null): Promise<boolean> {
    if (last === null) return false;
    const { keys, first } = last;
    const round = { number: 0, since: toUtcSeconds(first), after: first };
    const page = await this.#try({ ...this.#at, cursor: null, round });
    if (page === null) return false;
    const isSame = showsSame(keys, page.value.rows.keys());
    this.#drop(page.value);
    return isSame;
  }

  /**
   * Reads the list from its beginning. The staged chunks are kept. If cursors live shorter than the reading takes, larger pages help,
   * so they are tried first, unless the service has refused a larger size.
   */
  #restartList(error: RejectedError | NotFoundError): void {
    const { restarts, pageSize, chain } = this.#at;
    if (restarts >= MAX_RESTARTS) throw this.#expires(error);
    this.#seen.clear();
    const larger = Math.max(pageSize, Math.min(LARGER.times * pageSize, LARGER.most));
    const isReduced = pageSize < this.#options.run.sync.pageSize;
    this.#at = {
      ...{ ...this.#at, cursor: null, chain: chain + 1, restarts: restarts + 1 },
      pageSize: restarts === 0 && !isReduced ? larger : pageSize,
    };
    this.#began = this.#options.now();
  }

  /** What cannot be read, by the service's own count of the list, after a colon. Empty: it gives none. */
  #shortfall(): string {
    const { run } = this.#options;
    const of = this.#at.updatedSince === null ? 'all' : 'changes';
    const facts = { of, trust: totalTrust(run), listed: run.before?.fullRead?.listed } as const;
    const doubt = doubtOf(this.#evidence, facts);
    return doubt?.kind === 'total' ? `: ${shortfall(run.resource.name, doubt)}` : '';
  }

  #expires(error: RejectedError | NotFoundError): Error {
    const { name, updatedAtField } = this.#options.run.resource;
    const { round } = this.#at;
    const took = formatDuration(
      Math.max(1000, Math.round((this.#options.now() - this.#began) / 1000) * 1000),
    );
    if (round !== undefined)
      return finalFailure(
        'BrokenPromise',
        `${name}: the cursors of the list end before it does, and part ${round.number + 1} of it, read by "${updatedAtField}" from ` +
          `${round.since}, brought no later time in ${took} and ${this.#pages} pages of up to ${this.#at.pageSize} records. Nothing was ` +
          `published. ${sentence(error.message)} Set a larger \`sync.pageSize\` or a smaller \`sync.overlap\`, or ask its support how long lists are read.${dueAdvice(this.#options.run)}`,
        { resource: name },
      );
    const short = this.#shortfall();
    const cause =
      short === ''
        ? 'Its cursors seem to live shorter than the list takes'
        : 'It seems to show no more of a list, or its cursors live shorter than the list takes';
    return finalFailure(
      'BrokenPromise',
      `${name}: in each of ${1 + MAX_RESTARTS} readings, the service no longer accepted its own cursor, last after ${took} and ` +
        `${this.#pages} pages of up to ${this.#at.pageSize} records${short}. ${cause}. Larger pages were tried. ` +
        `Nothing was published. ${sentence(error.message)} Set a larger \`sync.pageSize\` if the service accepts it, or ask its support how ` +
        `long lists are read. ${updatedAtField === null ? IN_PARTS : `It is not shown that the list is in the order of "${updatedAtField}", so it was not read in parts.`}${dueAdvice(this.#options.run)}`,
      { resource: name },
    );
  }
}

const IN_PARTS =
  'If the list is in the order of a time of change, name its field in `updatedAt`: it is then read in parts.';

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
