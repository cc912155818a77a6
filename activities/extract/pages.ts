import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotFoundError, type Received, RejectedError, type ServiceClient } from '../../src/api/index.js';
import { peekNextCursor } from '../../src/api/json/peek.js';
import type { ByteString, UtcSeconds } from '../../src/core/brands.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { askAfterSetback } from '../../src/lake/watermark.js';
import { finalFailure } from '../failures.js';
import { type ChainPosition, EarlyPage } from './early-page.js';
import type { Page, PageReader } from './page-reader.js';
import { cursorHash } from './position.js';

/** Times that a list is read from its beginning again because its cursor expired. */
const MAX_RESTARTS = 2;
/**
 * Turns of the event loop until a request has left: in one, undici hears that a connection is free again, in another it
 * looks whether that one is still good. And one to spare.
 */
const TURNS_TO_LEAVE = 3;
/** The page behind a larger one, in characters, waits until that one has been read: bodies are held in memory. */
const LARGE_PAGE = 4 * 1024 * 1024;

export interface PageOptions {
  readonly client: ServiceClient;
  readonly run: RunFile;
  readonly reader: PageReader;
  readonly signal: AbortSignal;
  /** The workflows' clock, milliseconds since 1970. */
  readonly now: () => number;
  readonly onWait: (until: number) => void;
  /** Whether the call is to end, as when the worker is stopping: then the next page is another one's. */
  readonly mustEnd: () => boolean;
}

/** A page with the position behind it. */
export interface FetchedPage {
  readonly received: Received<Page>;
  readonly next: ChainPosition;
  readonly done: boolean;
}

/**
 * Reads one list page by page, following opaque cursors (DESIGN 3.6) and finding a page size that the service
 * takes (DESIGN 3.7). The page behind one is asked for as soon as that one's body is there, before it is parsed.
 */
export class PageChain {
  readonly #options: PageOptions;
  readonly #seen: Set<string>;
  #at: ChainPosition;
  /** Whether the cursor that is due was refused once already. */
  #retried = false;
  #early: EarlyPage<Received<Page>> | null = null;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: PageOptions, at: ChainPosition, seen: Set<string>) {
    this.#options = options;
    this.#at = at;
    this.#seen = seen;
    this.#signal = AbortSignal.any([options.signal, this.#closing.signal]);
  }

  /** Gives up a page that was asked for early and is not wanted any more. */
  close(): void {
    this.#early?.discard();
    this.#closing.abort();
  }

  /** Whether the call ends behind the page that came last. One that is under way is waited for, not asked for twice. */
  endsBehind({ done }: FetchedPage): boolean {
    const early = this.#early;
    const isComing = early?.isFor(this.#at) === true && early.isUnderWay;
    return done || (this.#options.mustEnd() && !isComing);
  }

  /** The next page. Must not be called again before it has resolved. */
  async next(): Promise<FetchedPage> {
    for (;;) {
      try {
        const received = await this.#request();
        const earlier = this.#afterSetback(received);
        if (earlier === null) return this.#accept(received);
        this.#at = { ...this.#at, updatedSince: earlier };
      } catch (error) {
        if (!(error instanceof RejectedError || error instanceof NotFoundError)) throw error;
        if (this.#at.cursor === null) this.#retreatFirstPage(error);
        else this.#retreatCursor(error);
      }
    }
  }

  #request(): Promise<Received<Page>> {
    const early = this.#early;
    this.#early = null;
    if (early?.isFor(this.#at)) return early.take();
    early?.discard();
    return this.#ask(this.#at, null);
  }

  /** @param turn resolves when the page is wanted, for it leaves its traces in the columns */
  #ask(at: ChainPosition, turn: Promise<void> | null, onEarlyWait?: () => void): Promise<Received<Page>> {
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
          onEarlyWait?.();
          onWait(until);
        },
      },
      async (body) => {
        await turn;
        if (this.#askEarly(at, body)) await requestToLeave();
        return reader.read(body);
      },
    );
  }

  /** Returns whether a request is to be let out before the body is parsed. */
  #askEarly(at: ChainPosition, body: ByteString): boolean {
    const { run, mustEnd } = this.#options;
    // After an increment's first page it may be asked for anew, from earlier.
    const isUncertain = at.cursor === null && run.mode === 'increment';
    if (body.length > LARGE_PAGE || isUncertain || mustEnd()) return false;
    const cursor = peekNextCursor(body);
    if (cursor === null || this.#seen.has(cursorHash(cursor))) return false;
    const next = { ...at, cursor };
    if (this.#early?.isFor(next)) return false;
    // The body before was torn, and another one came in its place.
    this.#early?.discard();
    this.#early = new EarlyPage(next, (turn, onWait) => this.#ask(next, turn, onWait));
    return true;
  }

  /** Only the first page's `Date` tells that the service's clock has gone back; then it is asked for anew, from earlier. */
  #afterSetback({ serviceDate }: Received<Page>): UtcSeconds | null {
    const { run, now } = this.#options;
    const { cursor, updatedSince } = this.#at;
    if (run.mode !== 'increment' || run.before === null || serviceDate === null) return null;
    if (cursor !== null || updatedSince === null || updatedSince !== run.updatedSince) return null;
    // Who asks for another stretch of time than what changed since the run before wants just that.
    if (run.updatedSince !== run.checkpoint) return null;
    return askAfterSetback(updatedSince, now() - run.before.startedAt, serviceDate, run.sync);
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
      `${resource.name}: the service's cursors go in a circle (a nextCursor came back within one chain of pages, ` +
        `updatedSince ${updatedSince ?? 'absent'}); nothing was published. Report it to the service's support.`,
      { resource: resource.name },
    );
  }

  /** A refused first page: the limit may be too large. A missing list is missing at every limit. */
  #retreatFirstPage(error: RejectedError | NotFoundError): void {
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

  /** A cursor that is no longer taken, after one more try: the list is read again, what is staged stays of use. */
  #retreatCursor(error: RejectedError | NotFoundError): void {
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

/** Reading a page keeps the event loop busy for milliseconds. */
async function requestToLeave(): Promise<void> {
  for (let turn = 0; turn < TURNS_TO_LEAVE; turn++) await nextTurn();
}
