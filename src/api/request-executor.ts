import type { Agent } from 'undici';
import type { ByteString, Cursor } from '../core/brands.js';
import { SecretReader } from '../core/secrets.js';
import type { ErrorMapping, HttpSettings } from '../core/settings.js';
import { backoffDelayMs, wait } from './backoff.js';
import { type Lease, type LeaseOutcome, RateBudget } from './budget.js';
import { ACCEPTED_CODING } from './content-coding.js';
import type { RequestContext, ServiceError } from './errors/service-error.js';
import { TransientError } from './errors/transient-error.js';
import { exchangeError, htmlError, parseError, statusError } from './failure.js';
import { createRecordRedactor, createRedactor, type Redactor } from './redact.js';
import { exchange, type HttpRequest, type HttpResponse } from './request.js';
import type {
  Parse,
  Received,
  RetrySettings,
  ServiceClientOptions,
  ServiceEvent,
  WaitReason,
} from './service-client.js';

/** A request to the service, without the headers that every request has. */
export interface Operation {
  readonly method: HttpRequest['method'];
  readonly resource: string;
  readonly url: string;
  /** The URL for messages, with a placeholder for each record id. */
  readonly displayUrl: string;
  /** Ids of the record in the request. Messages never contain them. */
  readonly records: readonly string[];
  readonly cursor: Cursor | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Most attempts; undefined: the client's setting. */
  readonly attempts: number | undefined;
  /** Milliseconds since the epoch after which no attempt begins. */
  readonly notAfter: number | undefined;
  /** Called each time just before the request is handed to a connection. */
  readonly onSend: (() => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onWait: ((untilMs: number, why: WaitReason) => void) | undefined;
  /** As in `ListRequest`. */
  readonly mayRetry?: ((error: ServiceError) => boolean) | undefined;
}

/** The result of one attempt; a failure has the wait before the next one. */
type AttemptResult<T> =
  | { readonly kind: 'received'; readonly received: Received<T> }
  | { readonly kind: 'failed'; readonly error: ServiceError; readonly delayMs: number };

const DEFAULT_RETRY: RetrySettings = { attempts: 5, maxDelayMs: 20_000 };

/** Sends requests within the rate budget and retries transient failures. */
export class RequestExecutor {
  readonly #agent: Agent;
  readonly #origin: string;
  readonly #http: HttpSettings;
  readonly #errors: ErrorMapping;
  readonly #budget: RateBudget;
  readonly #retry: RetrySettings;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #userAgent: string;
  readonly #onEvent: (event: ServiceEvent) => void;
  readonly #key: SecretReader;
  #redactor: { readonly key: string; readonly redact: Redactor } | null = null;

  constructor(agent: Agent, options: ServiceClientOptions) {
    this.#agent = agent;
    this.#origin = new URL(options.baseUrl).origin;
    this.#http = options.http;
    this.#errors = options.errors;
    this.#retry = options.retry ?? DEFAULT_RETRY;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? Date.now;
    this.#userAgent = options.userAgent ?? 'temporal-worktrack';
    this.#onEvent = options.onEvent ?? (() => {});
    this.#key = new SecretReader(options.apiKey, { path: 'apiKey', now: this.#now });
    this.#budget = options.budget ?? new RateBudget({ ...options.http, now: options.now });
  }

  /** Throws as documented for `ServiceClient`; a 404 is a NotFoundError. */
  async execute<T>(operation: Operation, parse: Parse<T>): Promise<Received<T>> {
    const attempts = operation.attempts ?? this.#retry.attempts;
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#attempt(operation, attempt, parse);
      const { resource } = operation;
      if (result.kind === 'received') {
        this.#onEvent({ kind: 'request', resource, outcome: 'ok' });
        return result.received;
      }
      const { error, delayMs } = result;
      this.#onEvent({ kind: 'request', resource, outcome: error.status === 429 ? 'throttled' : error.kind });
      const inTime = delayMs <= this.#retry.maxDelayMs && !isExpired(operation, this.#now() + delayMs);
      const mayRetry = error.kind === 'transient' && attempt < attempts && inTime;
      if (!mayRetry || operation.mayRetry?.(error) === false) throw error;
      const requestedByService = error.status === 429 || error.retryAfterMs !== null;
      operation.onWait?.(this.#now() + delayMs, requestedByService ? 'rate-limit' : 'retry');
      await wait(delayMs, operation.signal);
      if (requestedByService) this.#onEvent({ kind: 'rate-limit-wait', resource, ms: delayMs });
      this.#onEvent({ kind: 'retry', resource });
    }
  }

  async #attempt<T>(operation: Operation, attempt: number, parse: Parse<T>): Promise<AttemptResult<T>> {
    operation.signal?.throwIfAborted();
    const lease = this.#budget.tryAcquire() ?? (await this.#lease(operation, attempt));
    let outcome: LeaseOutcome = { kind: 'failure' };
    const backoff = backoffDelayMs(attempt, this.#retry.maxDelayMs, this.#random);
    const startedAt = performance.now();
    let response: HttpResponse;
    let redact: Redactor;
    try {
      const key = (this.#key.readAtOnce() ?? (await this.#key.read())).value;
      redact = withRecordRedaction(this.#redact(key), operation.records);
      // Waiting for the lease can take long, and a machine can sleep: the deadline may have passed meanwhile.
      if (isExpired(operation, this.#now())) throw expiredError(requestContext(operation, attempt, redact));
      try {
        response = await exchange(this.#agent, this.#toRequest(operation, key), this.#http, this.#now);
      } catch (error) {
        operation.signal?.throwIfAborted();
        const failed = exchangeError(error, requestContext(operation, attempt, redact), redact);
        return { kind: 'failed', error: failed, delayMs: backoff };
      }
      outcome = leaseOutcome(response, backoff);
    } finally {
      // Released before parsing, so that the next request does not wait for the parser.
      lease.release(outcome);
    }
    const durationMs = performance.now() - startedAt;
    const { status, serviceDate, retryAfterMs, contentType } = response.head;
    if (response.kind === 'failure') {
      const request = requestContext(operation, attempt, redact);
      const error = statusError(response, request, this.#errors, redact);
      return { kind: 'failed', error, delayMs: Math.max(retryAfterMs ?? 0, backoff) };
    }
    const { text, bytes, replaced } = response.body;
    if (isHtml(contentType, text)) {
      const error = htmlError(requestContext(operation, attempt, redact), status);
      return { kind: 'failed', error, delayMs: backoff };
    }
    try {
      const value = await parse(text);
      const retries = attempt - 1;
      return {
        kind: 'received',
        received: { value, serviceDate, status, bytes, replaced, durationMs, retries },
      };
    } catch (thrown) {
      const error = parseError(thrown, requestContext(operation, attempt, redact), status, redact);
      if (error === null) throw thrown;
      return { kind: 'failed', error, delayMs: backoff };
    }
  }

  async #lease(operation: Operation, attempt: number): Promise<Lease> {
    let heldSince: number | null = null;
    const acquired = await this.#budget.acquire({
      signal: operation.signal,
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
      { request: requestContext(operation, attempt, this.#redact(null)), retryAfterMs, reason: 'hold' },
    );
  }

  #toRequest({ method, url, headers, body, signal, onSend }: Operation, key: string): HttpRequest {
    return {
      method,
      origin: this.#origin,
      path: url.slice(this.#origin.length),
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        'accept-encoding': ACCEPTED_CODING,
        'user-agent': this.#userAgent,
        ...headers,
      },
      body,
      signal,
      onSend,
    };
  }

  /** Creates a redactor only when the key changes. Without a key (not read yet), uses the previous redactor. */
  #redact(key: string | null): Redactor {
    if (key === null) return this.#redactor?.redact ?? createRedactor([]);
    if (this.#redactor?.key !== key) this.#redactor = { key, redact: createRedactor([key]) };
    return this.#redactor.redact;
  }
}

function requestContext(operation: Operation, attempt: number, redact: Redactor): RequestContext {
  const { method, resource, displayUrl, cursor } = operation;
  return {
    method,
    resource,
    url: redact(displayUrl),
    cursor: cursor === null ? null : (redact(cursor) as Cursor),
    attempt,
  };
}

function isExpired({ notAfter }: Operation, atMs: number): boolean {
  return notAfter !== undefined && atMs > notAfter;
}

function expiredError(request: RequestContext): TransientError {
  return new TransientError(
    `${request.resource}: the deadline for sending this request has passed; it was not sent.`,
    { request, reason: 'expired' },
  );
}

/** Adds record ids to a redactor. The patterns are built on first use, because few requests need a message. */
function withRecordRedaction(redact: Redactor, records: readonly string[]): Redactor {
  if (records.length === 0) return redact;
  let hide: Redactor | null = null;
  return (text) => {
    hide ??= createRecordRedactor(records);
    return hide(redact(text));
  };
}

/** The effect of a response on the rate budget. A 429 without `Retry-After` holds all requests for the back-off. */
function leaseOutcome(response: HttpResponse, backoff: number): LeaseOutcome {
  if (response.kind === 'success') return { kind: 'success' };
  const { status, retryAfterMs } = response.head;
  if (status === 429) return { kind: 'throttled', delayMs: Math.max(retryAfterMs ?? 0, backoff) };
  return retryAfterMs === null ? { kind: 'failure' } : { kind: 'hold', delayMs: retryAfterMs };
}

function isHtml(contentType: string | null, body: ByteString): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? '') || /^\s*</.test(body);
}
