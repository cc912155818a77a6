import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotFoundError, type Received, RejectedError, type ServiceClient } from '../../src/api/index.js';
import { peekNextCursor } from '../../src/api/json/page.js';
import type { ByteString, UtcSeconds } from '../../src/core/brands.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import { updatedSinceAfterSetback } from '../../src/lake/run/watermark.js';
import { finalFailure } from '../shared/failures.js';
import type { Page, PageReader } from './page-reader.js';
import { cursorHash } from './position.js';
import { type ChainPosition, PrefetchedPage } from './prefetched-page.js';

/** How often a list is read again from its beginning because a cursor expired. */
const MAX_RESTARTS = 2;
/**
 * Event loop turns until a request is sent: in one turn undici sees that a connection is free, in another it checks that
 * the connection is still usable. One more is a margin.
 */
const TURNS_TO_SEND = 3;
/** Page size in characters above which the next page is not prefetched, because both bodies would be in memory. */
const LARGE_PAGE_CHARS = 4 * 1024 * 1024;

export interface PageOptions {
  readonly client: ServiceClient;
  readonly run: RunFile;
  readonly reader: PageReader;
  readonly signal: AbortSignal;
  /** The workflows' clock, milliseconds since 1970. */
  readonly now: () => number;
  readonly onWait: (until: number) => void;
  /** Whether the call must end, for example because the worker is shutting down. The next call then reads the next page. */
  readonly mustEnd: () => boolean;
}

/** A page and the position of the page after it. */
export interface FetchedPage {
  readonly received: Received<Page>;
  readonly next: ChainPosition;
  readonly done: boolean;
}

/**
 * Reads one list page by page. Follows opaque cursors (docs/explanation/semantics.md#cursors) and finds a page size that
 * the service accepts (docs/explanation/semantics.md#page-size). Requests the next page as soon as the body of the current
 * page has arrived, before that body is parsed.
 */
export class PageChain {
  readonly #options: PageOptions;
  readonly #seen: Set<string>;
  #at: ChainPosition;
  /** Whether the service has rejected the current cursor once. */
  #retried = false;
  #prefetched: PrefetchedPage<Received<Page>> | null = null;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: PageOptions, at: ChainPosition, seen: Set<string>) {
    this.#options = options;
    this.#at = at;
    this.#seen = seen;
    this.#signal = AbortSignal.any([options.signal, this.#closing.signal]);
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
        const received = await this.#request();
        const earlier = this.#earlierStart(received);
        if (earlier === null) return this.#accept(received);
        this.#at = { ...this.#at, updatedSince: earlier };
      } catch (error) {
        if (!(error instanceof RejectedError || error instanceof NotFoundError)) throw error;
        if (this.#at.cursor === null) this.#halvePageSize(error);
        else this.#restartList(error);
      }
    }
  }

  #request(): Promise<Received<Page>> {
    const prefetched = this.#prefetched;
    this.#prefetched = null;
    if (prefetched?.isFor(this.#at)) return prefetched.take();
    prefetched?.discard();
    return this.#ask(this.#at, null);
  }

  /** @param turn resolves when the page may be read. Reading it earlier would add the columns of a page that is dropped. */
  #ask(at: ChainPosition, turn: Promise<void> | null, onPrefetchWait?: () => void): Promise<Received<Page>> {
    const { client, run, reader, onWait } = this.#options;
    const { name, path } = run.resource;
    return client.listPage(
      {
        resource: name,
        path,
        limit: at.pageSize,
        cursor: at.cursor,
        updatedSince: at.updatedSince,
        signal: this.#signal,
        onWait: (until) => {
          onPrefetchWait?.();
          onWait(until);
        },
      },
      async (body) => {
        await turn;
        if (this.#prefetch(at, body)) await letRequestLeave();
        return reader.read(body);
      },
    );
  }

  /** Starts the request for the next page. Returns whether one was started. */
  #prefetch(at: ChainPosition, body: ByteString): boolean {
    const { run, mustEnd } = this.#options;
    // The first page of an increment may be requested again with an earlier `updatedSince` (see `#earlierStart`).
    const isUncertain = at.cursor === null && run.mode === 'increment';
    if (body.length > LARGE_PAGE_CHARS || isUncertain || mustEnd()) return false;
    const cursor = peekNextCursor(body);
    if (cursor === null || this.#seen.has(cursorHash(cursor))) return false;
    const next = { ...at, cursor };
    if (this.#prefetched?.isFor(next)) return false;
    // The previous body was truncated and the request was repeated: its prefetched page has a different cursor.
    this.#prefetched?.discard();
    this.#prefetched = new PrefetchedPage(next, (turn, onWait) => this.#ask(next, turn, onWait));
    return true;
  }

  /**
   * Returns an earlier `updatedSince` if the `Date` header of the first page shows that the service's clock was set back.
   * The first page is then requested again.
   */
  #earlierStart({ serviceDate }: Received<Page>): UtcSeconds | null {
    const { run, now } = this.#options;
    const { cursor, updatedSince } = this.#at;
    if (run.mode !== 'increment' || run.before === null || serviceDate === null) return null;
    if (cursor !== null || updatedSince === null || updatedSince !== run.updatedSince) return null;
    // A run for an explicitly requested period reads exactly that period.
    if (run.updatedSince !== run.checkpoint) return null;
    return updatedSinceAfterSetback(updatedSince, now() - run.before.startedAt, serviceDate, run.sync);
  }

  #accept(received: Received<Page>): FetchedPage {
    const { nextCursor } = received.value;
    this.#retried = false;
    if (nextCursor !== null) {
      const hash = cursorHash(nextCursor);
      if (this.#seen.has(hash)) throw this.#loops();
      this.#seen.add(hash);
    }
    this.#at = { ...this.#at, cursor: nextCursor };
    return { received, next: this.#at, done: nextCursor === null };
  }

  #loops(): Error {
    const { resource } = this.#options.run;
    const { updatedSince } = this.#at;
    return finalFailure(
      'BrokenPromise',
      `${resource.name}: the service returned the same nextCursor twice within one reading of the list ` +
        `(updatedSince ${updatedSince ?? 'absent'}). Nothing was published. Report it to the service's support.`,
      { resource: resource.name },
    );
  }

  /** After a rejected first page, halves the limit, which may be too large. A 404 is final: the limit does not cause it. */
  #halvePageSize(error: RejectedError | NotFoundError): void {
    const { resource } = this.#options.run;
    if (error instanceof NotFoundError) {
      throw finalFailure(
        'BrokenPromise',
        `${resource.name}: the service has no list at "${resource.path}" (404). ` +
          "Correct the resource's `path` in the configuration, or remove the resource.",
        { resource: resource.name },
      );
    }
    if (this.#at.pageSize <= 1) throw error;
    this.#at = { ...this.#at, pageSize: Math.floor(this.#at.pageSize / 2) };
  }

  /** After a cursor is rejected twice, reads the list from its beginning. The staged chunks are kept. */
  #restartList(error: RejectedError | NotFoundError): void {
    if (!this.#retried) {
      this.#retried = true;
      return;
    }
    this.#retried = false;
    if (this.#at.restarts >= MAX_RESTARTS) throw error;
    this.#seen.clear();
    this.#at = { ...this.#at, cursor: null, chain: this.#at.chain + 1, restarts: this.#at.restarts + 1 };
  }
}

/** Reading a page blocks the event loop for milliseconds, so let undici send the next request first. */
async function letRequestLeave(): Promise<void> {
  for (let turn = 0; turn < TURNS_TO_SEND; turn++) await nextTurn();
}
