import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { fromByteString, type Millis } from '../core/brands.js';
import { HOUR_MS, MINUTE_MS } from '../core/duration.js';
import { knownSecrets } from '../core/known-secrets.js';
import { isShortWait, isTooLong } from '../core/long-retry-after.js';
import { SecretReader, secretFingerprint } from '../core/secrets.js';
import { systemCode } from '../core/system-error.js';
import { JsonError } from '../json/json-error.js';
import { repairJson } from '../json/repair.js';
import { announcementIn } from './announcement.js';
import { backoffDelayMs, wait } from './backoff.js';
import { ACCEPTED_CODING, BodyText, headerOf } from './body.js';
import { type Lease, type LeaseOutcome, RateBudget } from './budget.js';
import { RefusedError, type ServiceError, TransientError, type WriteMeaning } from './errors.js';
import { exchange, type HttpRequest, type HttpResponse } from './exchange.js';
import { ExtraHeaders } from './extra-headers.js';
import { createRedactor, quoteText, type Redactor } from './redact.js';
import { addedParts, MAX_REDIRECTS, redirectPath } from './redirect.js';
import type {
  ListRequest,
  Parse,
  Received,
  RetrySettings,
  SendRequest,
  ServiceClientOptions,
  ServiceEvent,
  Waitable,
} from './service-client.js';
import {
  challengeError,
  type ErrorRules,
  exchangeError,
  type FailedRequest,
  notJsonError,
  parseError,
  statusError,
  strictJsonError,
  wrongLengthError,
} from './service-failure.js';
import { serviceMessage } from './service-message.js';

/** A request to the service, without the headers that every request has. */
export interface Operation
  extends HttpRequest,
    Waitable,
    Partial<Pick<ListRequest, 'wasRead' | 'mayRetry'>>,
    Pick<SendRequest, 'isExpired'> {
  readonly resource: string;
  /** The URL for messages, with a placeholder for each record id and value of the query. */
  readonly displayUrl: string;
  /** Ids of the record in the request, and texts of the cursor. Messages never contain them. */
  readonly records: readonly string[];
  /** Most attempts. Default: the client's setting. */
  readonly attempts?: number | undefined;
  /** Called for each attempt that got a response or lost its connection, and failed. */
  readonly onFailure?: (error: ServiceError) => void;
}

/** The result of one attempt; a failure has the wait before the next one. `key`: the key that it was made with. */
type AttemptResult<T> =
  | { readonly received: Received<T> }
  | { readonly error: ServiceError; readonly delayMs: number; readonly key: string }
  /** Nothing was sent, because the guard does not admit the key with this fingerprint. */
  | { readonly notAdmitted: string };

/** What follows from a key. */
interface KeyFacts {
  readonly key: string;
  readonly fingerprint: string;
}

/** How long the bytes behind a response may take. */
const SURPLUS_MS = 100;

const DEFAULT_RETRY: RetrySettings = { attempts: 5, maxDelayMs: 20_000 };

/** Sends requests within the rate budget and retries transient failures. */
export class RequestExecutor {
  readonly #dispatcher: Dispatcher;
  readonly #options: ServiceClientOptions;
  readonly #rules: ErrorRules;
  readonly #budget: RateBudget;
  readonly #retry: RetrySettings;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #onEvent: (event: ServiceEvent) => void;
  readonly #key: SecretReader;
  readonly #extra: ExtraHeaders;
  /** Connections that ended because of bytes behind a response. */
  #surplus = 0;
  #facts: KeyFacts | null = null;

  constructor(dispatcher: Dispatcher, options: ServiceClientOptions) {
    this.#dispatcher = dispatcher;
    this.#options = options;
    this.#rules = {
      mapping: options.errors,
      giveUpAfterMs: options.giveUpAfterMs ?? Number.POSITIVE_INFINITY,
    };
    this.#retry = options.retry ?? DEFAULT_RETRY;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? Date.now;
    this.#onEvent = options.onEvent ?? (() => {});
    this.#key = new SecretReader(options.apiKey, { path: 'apiKey', now: this.#now });
    // Bytes that arrive behind a response: its Content-Length is too small.
    dispatcher.on('disconnect', (_, __, error) => {
      if (systemCode(error) === 'UND_ERR_SOCKET' && error.message === 'bad response') this.#surplus++;
    });
    this.#extra = new ExtraHeaders(options.http.headers, this.#now);
    this.#budget = options.budget ?? new RateBudget({ ...options.http, now: options.now });
  }

  /** Throws as documented for `ServiceClient`; a 404 is a NotFoundError. */
  async execute<T>(operation: Operation, parse: Parse<T, BodyText>): Promise<Received<T>> {
    const attempts = operation.attempts ?? this.#retry.attempts;
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#attempt(operation, attempt, parse);
      const { resource } = operation;
      if ('notAdmitted' in result) {
        await operation.keys!.show(result.notAdmitted);
        attempt -= 1;
        continue;
      }
      if ('received' in result) {
        this.#onEvent({ kind: 'request', resource, outcome: 'ok' });
        return result.received;
      }
      const { error, delayMs, key } = result;
      operation.onFailure?.(error);
      this.#onEvent({ kind: 'request', resource, outcome: error.status === 429 ? 'throttled' : error.kind });
      if (
        error instanceof RefusedError &&
        error.scope === 'key' &&
        (await this.#isReplaced(key, operation))
      ) {
        attempt -= 1;
        continue;
      }
      const inTime = isShortWait(delayMs, this.#retry.maxDelayMs) && operation.isExpired?.(delayMs) !== true;
      const mayRetry = error instanceof TransientError && attempt < attemptsFor(error, attempts) && inTime;
      if (!mayRetry || operation.mayRetry?.(error) === false) throw error;
      const requestedByService = error.status === 429 || error.retryAfterMs !== null;
      operation.onWait?.(this.#now() + delayMs, requestedByService ? 'rate-limit' : 'retry');
      await wait(delayMs, operation.signal);
      if (requestedByService) this.#onEvent({ kind: 'rate-limit-wait', resource, ms: delayMs });
      this.#onEvent({ kind: 'retry', resource });
    }
  }

  async #attempt<T>(
    operation: Operation,
    attempt: number,
    parse: Parse<T, BodyText>,
  ): Promise<AttemptResult<T>> {
    operation.signal?.throwIfAborted();
    const lease = this.#budget.tryAcquire() ?? (await this.#lease(operation));
    let outcome: LeaseOutcome = { kind: 'failure' };
    const backoff = backoffDelayMs(attempt, this.#retry.maxDelayMs, this.#random);
    const startedAt = performance.now();
    const surplus = this.#surplus;
    let response: HttpResponse;
    let failure: ServiceError | null = null;
    let request: FailedRequest;
    let key: string;
    let redact: Redactor;
    try {
      key = (this.#key.readAtOnce() ?? (await this.#key.read())).value;
      const facts = this.#factsOf(key);
      if (operation.keys?.admits(facts.fingerprint) === false) return { notAdmitted: facts.fingerprint };
      const extra = await this.#extra.read();
      const records = [...operation.records];
      redact = lazyRedactor(key, []);
      request = failedRequest({ ...operation, records }, redact, lazyRedactor(key, records));
      // Waiting for the lease can take long, and a machine can sleep: the deadline may have passed meanwhile.
      if (operation.isExpired?.(0) === true) throw expiredError(operation.resource);
      try {
        response = await this.#exchange(operation, { key, extra }, (path) =>
          records.push(...addedParts(operation.path, path)),
        );
      } catch (error) {
        operation.signal?.throwIfAborted();
        return { error: exchangeError(error, request), delayMs: backoff, key };
      }
      if (response.kind === 'failure')
        failure = statusError(response, request, this.#rules, operation.wasRead === true);
      outcome = leaseOutcome(response, failure, backoff, this.#rules.giveUpAfterMs);
    } finally {
      // Released before parsing, so that the next request does not wait for the parser.
      lease.release(outcome);
    }
    const durationMs = performance.now() - startedAt;
    const failed = (error: ServiceError, requiredMs = 0): AttemptResult<T> => {
      const isShort =
        error instanceof TransientError && (error.patience === 'short' || error.patience === 'brief');
      const delay = isShort
        ? shortDelayMs(attempt, this.#retry.maxDelayMs, this.#rules.giveUpAfterMs, this.#random)
        : backoff;
      return { error, key, delayMs: Math.max(requiredMs, delay) };
    };
    if (response.kind === 'failure') return failed(failure!, response.retryAfterMs ?? 0);
    const { status, serviceDate, headers } = response;
    const { text, bytes, replaced } = response.body;
    const retries = attempt - 1;
    const received = (value: T, repaired: number): AttemptResult<T> => ({
      received: {
        announced: announcementIn(headers, request.redact, this.#now()),
        ...{ value, serviceDate, status, bytes, replaced, repaired, durationMs, retries },
      },
    });
    const facts = {
      ...{ status, headers },
      ...{ location: headerOf(headers, 'location'), url: operation.origin + operation.path },
      message: () => serviceMessage(fromByteString(text.whole()), request.redact)?.shown ?? null,
      shown: (value: string) => quoteText(value, redact),
    };
    try {
      // The response to a write has its own rule: it may be empty, or show the record by its `Location` alone.
      const page =
        operation.method === 'GET' ? notJsonError(response, request) : challengeError(response, request);
      if (page !== null) return failed(page);
      return received(await parse(text, facts), 0);
    } catch (thrown) {
      const repaired = thrown instanceof SyntaxError ? repairJson(text.whole()) : null;
      if (repaired !== null && this.#options.json !== 'lenient')
        return failed(strictJsonError(thrown as SyntaxError, request, status));
      try {
        if (repaired === null) throw thrown;
        const whole = new BodyText(Buffer.from(repaired.text, 'latin1'));
        return received(await parse(whole, facts), repaired.repairs);
      } catch (rethrown) {
        const page = rethrown instanceof SyntaxError ? notJsonError(response, request) : null;
        const isCut = rethrown instanceof JsonError && rethrown.isCut;
        if (isCut && (await this.#hasSurplus(surplus))) return failed(wrongLengthError(response, request));
        const error = page ?? parseError(rethrown, request, status);
        if (error === null) throw rethrown;
        return failed(error);
      }
    } finally {
      text.release();
    }
  }

  /** Whether bytes have arrived behind a response. The rest of a body may take a moment. */
  async #hasSurplus(before: number): Promise<boolean> {
    if (this.#surplus === before) await delay(SURPLUS_MS);
    return this.#surplus > before;
  }

  /** Makes one request and follows its redirects within the origin. */
  async #exchange(
    operation: Operation,
    { key, extra }: { readonly key: string; readonly extra: Readonly<Record<string, string>> },
    onRedirect: (path: string) => void,
  ): Promise<HttpResponse> {
    const headers = {
      'user-agent': this.#options.userAgent ?? 'temporal-worktrack',
      ...extra,
      authorization: `Bearer ${key}`,
      accept: 'application/json',
      'accept-encoding': ACCEPTED_CODING,
      ...operation.headers,
    };
    let next: HttpRequest = { ...operation, headers };
    for (let redirects = 0; ; redirects += 1) {
      const response = await exchange(this.#dispatcher, next, this.#options.http, this.#now);
      const location = headerOf(response.headers, 'location');
      const path = response.kind === 'success' ? null : redirectPath(response.status, location, next);
      if (path === null || redirects === MAX_REDIRECTS) return response;
      onRedirect(path);
      next = { ...next, path };
    }
  }

  async #lease(operation: Operation): Promise<Lease> {
    let heldSince: number | null = null;
    const acquired = await this.#budget.acquire({
      signal: operation.signal,
      isBackground: operation.isBackground,
      maxHoldMs: this.#retry.maxDelayMs,
      onHold: (untilMs) => {
        heldSince ??= performance.now();
        operation.onWait?.(untilMs, 'rate-limit');
      },
    });
    const waited = (ms: number) =>
      this.#onEvent({ kind: 'rate-limit-wait', resource: operation.resource, ms });
    if (heldSince !== null) waited(performance.now() - heldSince);
    if (acquired.kind === 'granted') return acquired.lease;
    const retryAfterMs = this.#budget.remainingMs(acquired.untilMs);
    waited(retryAfterMs);
    throw new TransientError(
      `${operation.resource}: the service requires this connection to wait ${Math.ceil(retryAfterMs / 1000)} s longer; the request was not sent.`,
      { resource: operation.resource, retryAfterMs, reason: 'hold' },
    );
  }

  /** As in `ServiceClient`. */
  async keyFingerprint(): Promise<string> {
    return this.#factsOf((await this.#key.read()).value).fingerprint;
  }

  /**
   * Whether a rejected key has been replaced, or is within `awaitKeyMs`. Once per key: a second rejection waits no longer. Without
   * a guard, no request continues with another key: nothing would show that it is one of the same organization.
   */
  async #isReplaced(key: string, { keys, signal }: Operation): Promise<boolean> {
    if (keys === undefined) return false;
    return this.#key.isReplaced(key, { withinMs: this.#options.awaitKeyMs ?? 0, signal });
  }

  /** Computed only when the key changes. */
  #factsOf(key: string): KeyFacts {
    if (this.#facts?.key === key) return this.#facts;
    this.#facts = { key, fingerprint: secretFingerprint(key, 'an API key') };
    return this.#facts;
  }
}

/** @param redact hides record ids too; the URL for messages shows a placeholder for each */
function failedRequest(operation: Operation, redactKey: Redactor, redact: Redactor): FailedRequest {
  const { method, resource, displayUrl } = operation;
  return { method, resource, redact, url: () => redactKey(displayUrl) };
}

/** A redactor that is made on first use, because few requests need a message. @param records may grow until then */
function lazyRedactor(key: string, records: readonly string[]): Redactor {
  let redactor: Redactor | null = null;
  const made = (): Redactor => {
    redactor ??= createRedactor([key, ...knownSecrets()], records);
    return redactor;
  };
  return Object.assign((text: string) => made()(text), {
    head: (text: string, limit: number) => made().head(text, limit),
  });
}

function expiredError(resource: string): TransientError {
  const message = `${resource}: the deadline for sending this request has passed; it was not sent.`;
  return new TransientError(message, { resource, reason: 'expired' });
}

/**
 * The longest time that one response holds the requests of the whole connection. The list that got it waits as long
 * as it says. The others ask for themselves after that, because the wait may be odd, or about that list only.
 */
const MAX_HOLD_MS = MINUTE_MS;

/**
 * The effect of a response on the rate budget. A 429 without `Retry-After` holds all requests for the back-off, and so does
 * one with a wait that no caller can make, and a refusal whose headers show a limit. Words about a limit do not: it may be
 * the limit of one record.
 */
function leaseOutcome(
  response: HttpResponse,
  failure: ServiceError | null,
  backoff: number,
  giveUpAfterMs: Millis,
): LeaseOutcome {
  if (response.kind === 'success') return { kind: 'success' };
  // One row waits, and not the connection.
  if (CONFLICTS.has(failure?.write?.meaning)) return { kind: 'failure' };
  const { status, retryAfterMs } = response;
  const isBelieved = retryAfterMs !== null && !isTooLong(retryAfterMs, giveUpAfterMs);
  // Some services prolong the block with each request before the limit's reset.
  const longestMs = response.isReset ? HOUR_MS : MAX_HOLD_MS;
  const holdMs = isBelieved ? Math.min(retryAfterMs, longestMs) : 0;
  if (status === 429 || failure?.evidence === 'header')
    return { kind: 'throttled', delayMs: Math.max(holdMs, backoff) };
  return holdMs === 0 ? { kind: 'failure' } : { kind: 'hold', delayMs: holdMs };
}

const CONFLICTS: ReadonlySet<WriteMeaning | undefined> = new Set(['conflict', 'in-progress']);

/** Retries that show whether a failure lasts. */
const SHORT_RETRIES = 3;
/** Retries of what the service sends each time. */
const BRIEF_RETRIES = 2;
/** Upper limits of the waits before them. With the requests, they take less than a minute. */
const SHORT_WAITS_MS = [3_000, 10_000, 20_000] as const;
/** Shares of `retries.giveUpAfter` that they may take, so that the failure is reported before it ends the activity. */
const SHORT_SHARES = [0.05, 0.15, 0.3] as const;

function attemptsFor({ patience }: TransientError, attempts: number): number {
  if (patience === 'none') return 1;
  if (patience === 'brief') return Math.min(attempts, 1 + BRIEF_RETRIES);
  return patience === 'short' ? Math.min(attempts, 1 + SHORT_RETRIES) : attempts;
}

/** As `backoffDelayMs`, but spread over a minute. */
function shortDelayMs(attempt: number, capMs: number, giveUpAfterMs: Millis, random: () => number): number {
  const ofAll = giveUpAfterMs * (SHORT_SHARES[attempt - 1] ?? 1);
  return Math.floor(random() * Math.min(capMs, ofAll, SHORT_WAITS_MS[attempt - 1] ?? capMs));
}
