import type { Agent } from 'undici';
import type { ByteString, Cursor } from '../core/brands.js';
import type { ErrorMapping, HttpSettings } from '../core/settings.js';
import { backoffDelayMs } from './backoff.js';
import { type Lease, type LeaseOutcome, RateBudget } from './budget.js';
import type { RequestContext, ServiceError } from './errors/service-error.js';
import { TransientError } from './errors/transient-error.js';
import { exchangeError, htmlError, parseError, statusError } from './failure.js';
import { createRedactor, type Redactor } from './redact.js';
import { exchange, type HttpRequest, type HttpResponse } from './request.js';
import { SecretReader } from './secrets.js';
import type {
  Parse,
  Received,
  RetrySettings,
  ServiceClientOptions,
  ServiceEvent,
  WaitReason,
} from './service-client.js';
import { wait } from './wait.js';

/** A request to the service, without what every request carries. */
export interface Operation {
  readonly method: HttpRequest['method'];
  readonly resource: string;
  readonly url: string;
  readonly cursor: Cursor | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** undefined: as set for the client. */
  readonly attempts: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onWait: ((untilMs: number, why: WaitReason) => void) | undefined;
}

/** How one try ended, with the wait that a failure calls for. */
type Tried<T> =
  | { readonly kind: 'received'; readonly received: Omit<Received<T>, 'retries'> }
  | { readonly kind: 'failed'; readonly error: ServiceError; readonly delayMs: number };

const DEFAULT_RETRY: RetrySettings = { attempts: 5, maxDelayMs: 20_000 };

/** Makes requests within the rate budget and repeats those that fail transiently. */
export class Attempts {
  readonly #agent: Agent;
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

  /** As ServiceClient says of its methods; a 404 is a NotFoundError. */
  async run<T>(operation: Operation, parse: Parse<T>): Promise<Received<T>> {
    const attempts = operation.attempts ?? this.#retry.attempts;
    for (let attempt = 1; ; attempt += 1) {
      const tried = await this.#try(operation, attempt, parse);
      const { resource } = operation;
      if (tried.kind === 'received') {
        this.#onEvent({ kind: 'request', resource, outcome: 'ok' });
        return { ...tried.received, retries: attempt - 1 };
      }
      const { error, delayMs } = tried;
      this.#onEvent({ kind: 'request', resource, outcome: error.status === 429 ? 'throttled' : error.kind });
      const mayRetry = error.kind === 'transient' && attempt < attempts && delayMs <= this.#retry.maxDelayMs;
      if (!mayRetry) throw error;
      const asked = error.status === 429 || error.retryAfterMs !== null;
      operation.onWait?.(this.#now() + delayMs, asked ? 'rate-limit' : 'retry');
      await wait(delayMs, operation.signal);
      if (asked) this.#onEvent({ kind: 'rate-limit-wait', resource, ms: delayMs });
      this.#onEvent({ kind: 'retry', resource });
    }
  }

  async #try<T>(operation: Operation, attempt: number, parse: Parse<T>): Promise<Tried<T>> {
    const lease = await this.#lease(operation, attempt);
    let outcome: LeaseOutcome = { kind: 'failure' };
    const backoff = backoffDelayMs(attempt, this.#retry.maxDelayMs, this.#random);
    const startedAt = performance.now();
    let response: HttpResponse;
    let redact: Redactor;
    try {
      const key = (await this.#key.read()).value;
      redact = this.#redact(key);
      const sent = await this.#send(operation, key);
      if (sent.kind === 'broken') {
        const error = exchangeError(sent.error, contextOf(operation, attempt, redact), redact);
        return { kind: 'failed', error, delayMs: backoff };
      }
      response = sent.response;
      outcome = leaseOutcome(response, backoff);
    } finally {
      // Before parsing: the next request need not wait for our own work.
      lease.release(outcome);
    }
    const durationMs = performance.now() - startedAt;
    const request = contextOf(operation, attempt, redact);
    if (response.kind === 'failure') {
      const error = statusError(response, request, this.#errors, redact);
      return { kind: 'failed', error, delayMs: Math.max(response.retryAfterMs ?? 0, backoff) };
    }
    const { status, serviceDate, body } = response;
    if (isHtml(response.contentType, body.text)) {
      return { kind: 'failed', error: htmlError(request, status), delayMs: backoff };
    }
    try {
      const value = await parse(body.text);
      return { kind: 'received', received: { value, serviceDate, status, bytes: body.bytes, durationMs } };
    } catch (thrown) {
      const error = parseError(thrown, request, status, redact);
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
    const retryAfterMs = this.#budget.leftUntil(acquired.untilMs);
    waited(retryAfterMs);
    throw new TransientError(
      `${operation.resource}: the service has asked this connection to wait for ${Math.ceil(retryAfterMs / 1000)} s more; nothing was sent.`,
      { request: contextOf(operation, attempt, this.#redact(null)), retryAfterMs, reason: 'hold' },
    );
  }

  async #send(
    operation: Operation,
    key: string,
  ): Promise<{ kind: 'answered'; response: HttpResponse } | { kind: 'broken'; error: unknown }> {
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': this.#userAgent,
      ...operation.headers,
    };
    const { method, url, body, signal } = operation;
    try {
      const request = { method, url, headers, body, signal };
      return { kind: 'answered', response: await exchange(this.#agent, request, this.#http, this.#now) };
    } catch (error) {
      signal?.throwIfAborted();
      return { kind: 'broken', error };
    }
  }

  /** Made anew only when the key changes. Without a key (nothing sent yet), the last one known. */
  #redact(key: string | null): Redactor {
    if (key === null) return this.#redactor?.redact ?? createRedactor([]);
    if (this.#redactor?.key !== key) this.#redactor = { key, redact: createRedactor([key]) };
    return this.#redactor.redact;
  }
}

function contextOf(operation: Operation, attempt: number, redact: Redactor): RequestContext {
  const { method, resource, url, cursor } = operation;
  return {
    method,
    resource,
    url: redact(url),
    cursor: cursor === null ? null : (redact(cursor) as Cursor),
    attempt,
  };
}

/** What an answer means for the pace of all requests; without a `Retry-After`, 429 holds them for the back-off. */
function leaseOutcome(response: HttpResponse, backoff: number): LeaseOutcome {
  if (response.kind === 'success') return { kind: 'success' };
  const { status, retryAfterMs } = response;
  if (status === 429) return { kind: 'throttled', delayMs: Math.max(retryAfterMs ?? 0, backoff) };
  return retryAfterMs === null ? { kind: 'failure' } : { kind: 'hold', delayMs: retryAfterMs };
}

function isHtml(contentType: string | null, body: ByteString): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? '') || /^\s*</.test(body);
}
