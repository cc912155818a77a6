import type { ByteString, Cursor, UtcSeconds } from '../core/brands.js';
import type { ErrorMapping, HttpSettings, SecretRef } from '../core/settings.js';
import type { RateBudget } from './budget.js';
import type { ServiceErrorKind } from './errors/service-error.js';

export interface RetrySettings {
  /** Tries of one request in this process, the first included. */
  readonly attempts: number;
  /** The longest wait between two of them; a longer one is the caller's, who can wait durably. */
  readonly maxDelayMs: number;
}

export interface ServiceClientOptions {
  readonly baseUrl: string;
  readonly apiKey: SecretRef;
  readonly errors: ErrorMapping;
  readonly http: HttpSettings;
  /** Shared by all clients of a connection in this process; default: one of its own. */
  readonly budget?: RateBudget | undefined;
  /** Default: 5 attempts, 20 s. */
  readonly retry?: RetrySettings | undefined;
  /** Numbers in [0, 1), for the jitter. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
  readonly userAgent?: string | undefined;
  /** Told of every request, for metrics. */
  readonly onEvent?: ((event: ServiceEvent) => void) | undefined;
}

/** What becomes of the requests, told as it happens. Names and times only. */
export type ServiceEvent =
  | { readonly kind: 'request'; readonly resource: string; readonly outcome: RequestOutcome }
  /** A request that failed is about to be made again. */
  | { readonly kind: 'retry'; readonly resource: string }
  /** A request was kept waiting, or has to be, because the service asked for it. */
  | { readonly kind: 'rate-limit-wait'; readonly resource: string; readonly ms: number };

/** `throttled`: 429. */
export type RequestOutcome = 'ok' | 'throttled' | ServiceErrorKind;

/** Why a request is waiting: the service asked for it, or a failure is about to be retried. */
export type WaitReason = 'rate-limit' | 'retry';

interface Waitable {
  readonly signal?: AbortSignal | undefined;
  /** Told of each wait as it begins, with its end in ms since the epoch. */
  readonly onWait?: ((untilMs: number, why: WaitReason) => void) | undefined;
}

export interface ListRequest extends Waitable {
  /** For messages. */
  readonly resource: string;
  /** Below the base path, without slashes at its ends. */
  readonly path: string;
  readonly limit: number;
  readonly cursor: Cursor | null;
  readonly updatedSince: UtcSeconds | null;
}

export interface FetchRequest extends Waitable {
  readonly resource: string;
  readonly path: string;
  readonly id: string;
}

export interface SendRequest extends Waitable {
  readonly resource: string;
  readonly method: 'POST' | 'PUT';
  /** Segments below the base path, not encoded. */
  readonly path: readonly string[];
  /** JSON text. */
  readonly body: string;
  /** Makes a create safe to repeat (spec, "Idempotency rule"). Visible ASCII. */
  readonly idempotencyKey?: string | undefined;
  /** Default: as for reads; 1 for a POST without an idempotency key, which repeated could create two records. */
  readonly attempts?: number | undefined;
}

export interface Received<T> {
  readonly value: T;
  /** The service's clock: its `Date` header in ms since the epoch. */
  readonly serviceDate: number | null;
  readonly status: number;
  /** Size of the decoded body. */
  readonly bytes: number;
  /** Of the last try, from sending to the end of the body. */
  readonly durationMs: number;
  /** Tries that failed before. */
  readonly retries: number;
}

/** Called with a body once it is whole, and anew with that of each repeated request. */
export type Parse<T> = (body: ByteString) => T | Promise<T>;

/**
 * The service's HTTP interface (spec, "Endpoints"). Every method throws RefusedError, TransientError (after its own
 * retries), RejectedError and BrokenPromiseError as DESIGN 3.12 tells them apart, ConfigurationError when the key
 * cannot be read, and the signal's reason, as it is, when aborted.
 */
export interface ServiceClient {
  /**
   * Reads one page of a list. `parse` throws SyntaxError for what is not whole JSON (retried) and BrokenPromiseError for a
   * wrong envelope, which is thrown on with the request filled in. A 404 is a NotFoundError.
   */
  listPage<T>(request: ListRequest, parse: Parse<T>): Promise<Received<T>>;
  /** Reads one record by its id; null for a 404. */
  fetchById<T>(request: FetchRequest, parse: Parse<T>): Promise<Received<T> | null>;
  /** Writes one record. Retries carry the same idempotency key; a 404 counts as RejectedError here. */
  send(request: SendRequest): Promise<Received<ByteString>>;
  /** Lets requests under way finish, then closes the connections. */
  close(): Promise<void>;
}
