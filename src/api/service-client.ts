import type { IncomingHttpHeaders } from 'node:http';
import type { ByteString, Cursor, Millis, UtcSeconds } from '../core/brands.js';
import type { ErrorMapping, HttpSettings, SecretRef } from '../core/settings.js';
import type { JsonSource } from '../json/scanner.js';
import type { RateBudget } from './budget.js';
import { refusalScope } from './classify-response.js';
import {
  RefusedError,
  RejectedError,
  ServiceError,
  type ServiceErrorKind,
  TransientError,
} from './errors.js';
import type { Segment } from './url.js';

export interface RetrySettings {
  /** Most attempts of one request in this process, including the first. */
  readonly attempts: number;
  /** Longest wait between two attempts. A longer wait is left to the caller, who can wait durably. */
  readonly maxDelayMs: number;
}

export interface ServiceClientOptions {
  readonly baseUrl: string;
  readonly apiKey: SecretRef;
  readonly errors: ErrorMapping;
  readonly http: HttpSettings;
  /** Whether a body may have raw control characters in strings, and `NaN` instead of a number. Default: `strict`. */
  readonly json?: 'strict' | 'lenient' | undefined;
  /** The longest wait that a caller can make. A longer `Retry-After` is an error that no retry helps. Default: no limit. */
  readonly giveUpAfterMs?: number | undefined;
  /** Shared by all clients of a connection in this process. Default: a separate budget. */
  readonly budget?: RateBudget | undefined;
  /** Default: 5 attempts, 20 s. */
  readonly retry?: RetrySettings | undefined;
  /** Numbers in [0, 1), for the jitter. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
  readonly userAgent?: string | undefined;
  /** How long the file of a rejected key is read again, in case it is being replaced. Default: 0. */
  readonly awaitKeyMs?: Millis | undefined;
  /** Called for every request, for metrics. */
  readonly onEvent?: ((event: ServiceEvent) => void) | undefined;
}

/** The progress of requests. Contains only names and times. */
export type ServiceEvent =
  | { readonly kind: 'request'; readonly resource: string; readonly outcome: RequestOutcome }
  /** A failed request is about to be retried. */
  | { readonly kind: 'retry'; readonly resource: string }
  /** A request waited, or has to wait, because the service required it. */
  | { readonly kind: 'rate-limit-wait'; readonly resource: string; readonly ms: number };

/** `throttled`: 429. */
type RequestOutcome = 'ok' | 'throttled' | ServiceErrorKind;

/** Why a request waits: the service requires it, or a failed request is about to be retried. */
type WaitReason = 'rate-limit' | 'retry';

/** Which API keys the requests of a run or a batch may use (`ShownKeys`). */
export interface KeyGuard {
  admits(fingerprint: string): boolean;
  /**
   * Called before a request would use any other key, outside of the rate budget. Once it resolves, the key is admitted and the
   * request is sent. What it throws ends the request, which then was not sent.
   */
  show(fingerprint: string): Promise<void>;
}

export interface Waitable {
  /** Default: any key. */
  readonly keys?: KeyGuard | undefined;
  /** Whether all other requests of the connection come first. Default: false. */
  readonly isBackground?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called at the start of each wait, with its end in ms since the epoch. */
  readonly onWait?: ((untilMs: number, why: WaitReason) => void) | undefined;
}

/** A request that only reads. */
interface Repeatable extends Waitable {
  /** Called with each transient failure that could be retried. False ends the request with this failure. */
  readonly mayRetry?: ((error: ServiceError) => boolean) | undefined;
}

export interface ListRequest extends Repeatable {
  /** For messages. */
  readonly resource: string;
  /** Relative to the base path, without leading or trailing slash. */
  readonly path: string;
  /** Configured parameters of the list. Default: none. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly limit: number;
  readonly cursor: Cursor | null;
  readonly updatedSince: UtcSeconds | null;
  /** Whether the list has been read before. A 404 then does not mean that the path is wrong. Default: false. */
  readonly wasRead?: boolean | undefined;
}

export interface FetchRequest extends Repeatable {
  readonly resource: string;
  readonly path: string;
  readonly id: string;
}

export interface SendRequest extends Waitable {
  readonly resource: string;
  readonly method: 'POST' | 'PUT';
  /** Relative to the base path. */
  readonly path: readonly Segment[];
  /** JSON text. */
  readonly body: string;
  /** Makes a create safe to retry (docs/service-api.md#requests). Visible ASCII. */
  readonly idempotencyKey?: string | undefined;
  /** The header with the key. Default: `Idempotency-Key`. */
  readonly keyHeader?: string | undefined;
  /** `never`: a request is repeated only if its response shows that the service has not processed it. Default: `always`. */
  readonly repeat?: 'always' | 'never' | undefined;
  /** Default: as for reads, but 1 for a POST without an idempotency key, because a retry could create a second record. */
  readonly attempts?: number | undefined;
  /** Called when a response shows a limit, and the request is repeated. */
  readonly onLimit?: (() => void) | undefined;
  /** Whether an earlier call may have sent this record. Default: `never`. */
  readonly before?: SentBefore | undefined;
  /** Whether no attempt may begin in this time, ms, because the service may have forgotten the key. */
  readonly isExpired?: ((inMs: number) => boolean) | undefined;
}

export interface Received<T> {
  readonly value: T;
  /** The service's clock: its `Date` header in ms since the epoch. */
  readonly serviceDate: number | null;
  readonly status: number;
  /** What the headers announce, such as the end of the list; `null`: nothing. */
  readonly announced: string | null;
  /** Size of the decoded body. */
  readonly bytes: number;
  /** Number of invalid UTF-8 sequences that were replaced by U+FFFD. */
  readonly replaced: number;
  /** Number of deviations from JSON that were repaired (`json: 'lenient'`). */
  readonly repaired: number;
  /** Duration of the last attempt, from sending to the end of the body. */
  readonly durationMs: number;
  /** Number of failed attempts before. */
  readonly retries: number;
}

/** The first page of a list, or all of it. */
export interface ReceivedPage<T> extends Received<T> {
  /**
   * Whether the body was empty, as with status 204. It counts as an empty list, but proves less than one: a proxy may have
   * dropped the body.
   */
  readonly isBlank: boolean;
}

/** What a response with 2xx shows besides its body. */
export interface ResponseFacts {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The `Location` header, which can be relative to the request's URL. */
  readonly location: string | null;
  /** The URL of the request. */
  readonly url: string;
  /** The service's message in the body, or the whole text: redacted and shortened; `null` for an empty body. */
  message(): string | null;
  /** Prepares a value of the response for a message: redacted and shortened, on one line. */
  shown(text: string): string;
}

/** The body of a page. It is read in pieces. */
export type ListBody = JsonSource;

/** Called with each complete body, which it must not keep; again for each retried request, and for a repaired body. */
export type Parse<T, B = ByteString> = (body: B, response: ResponseFacts) => T | Promise<T>;

/**
 * The service's HTTP interface (docs/service-api.md#requests). Every method throws RefusedError, TransientError (after its
 * retries), RejectedError and BrokenPromiseError (docs/explanation/guarantees.md#errors), ConfigurationError when the key
 * cannot be read, and the signal's reason, unchanged, when aborted.
 */
export interface ServiceClient {
  /**
   * Reads one page of a list. `parse` throws SyntaxError for incomplete JSON (retried) and BrokenPromiseError for a wrong
   * envelope (rethrown with the request filled in). A 404 is a NotFoundError.
   *
   * An empty body without a cursor is an empty list, and `parse` gets its envelope. With a cursor, it is transient.
   */
  listPage<T>(request: ListRequest, parse: Parse<T, ListBody>): Promise<ReceivedPage<T>>;
  /** Reads one record by its id; null for a 404 or 410. */
  fetchById<T>(request: FetchRequest, parse: Parse<T>): Promise<Received<T> | null>;
  /**
   * Writes one record, with the same idempotency key in every attempt. It does not throw for a failed request: the outcome
   * states how the request ended and whether the service may have executed it. `parse` is as for `listPage`; a 404 is
   * a RejectedError here.
   */
  send<T>(request: SendRequest, parse: Parse<T>): Promise<SendOutcome<T>>;
  /**
   * The fingerprint of the API key that the next request would use (`secretFingerprint`).
   *
   * @throws ConfigurationError when the key cannot be read
   */
  keyFingerprint(): Promise<string>;
  /** Waits for requests in flight, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Whether earlier requests may have sent the record. `remembered`: one may have reached the service, which still knows
 * the Idempotency-Key; `forgotten`: so long ago that the service may no longer know the key.
 */
export type SentBefore = 'never' | 'remembered' | 'forgotten';

/** The result of a write. A failure always states whether the service may have executed the request. */
export type SendOutcome<T> =
  /** No part of the request has left the process. */
  | { readonly kind: 'not-sent'; readonly error: unknown }
  /** The request has left the process, or may have, and no response confirms its result. */
  | { readonly kind: 'in-doubt'; readonly error: unknown }
  /** The service's response confirms the result. */
  | { readonly kind: 'answered'; readonly answer: SendAnswer<T> };

export type SendAnswer<T> =
  /**
   * @member isRepeated whether an earlier request may have written the record, too: a service that ignores the idempotency key then has
   *   two records
   */
  | { readonly verdict: 'accepted'; readonly received: Received<T>; readonly isRepeated: boolean }
  /** The service does not allow this connection to write, or not this record. It has not processed the record. */
  | { readonly verdict: 'refused'; readonly error: RefusedError }
  /** A refusal that points to a limit (`error.evidence`). The service has not processed the record. */
  | { readonly verdict: 'limited'; readonly error: TransientError }
  /** The service rejects this record. */
  | { readonly verdict: 'rejected'; readonly error: RejectedError };

interface SendFailure {
  readonly error: unknown;
  /** How many times this call handed the request to a connection. */
  readonly sends: number;
  /** How many of these ended with a response that shows that the service has not processed the record (`isUnprocessed`). */
  readonly unprocessed: number;
  /** How many of these were a 429 without a word about its limit. */
  readonly throttled?: number;
  readonly before: SentBefore;
}

/**
 * Determines the outcome of a failed write (docs/explanation/guarantees.md#errors). If it is unclear, the record counts as
 * possibly written: a row wrongly considered unsent becomes a second record, but one wrongly considered sent is only
 * reported.
 */
export function outcomeOfFailure<T>({
  error,
  sends,
  unprocessed,
  throttled = 0,
  before,
}: SendFailure): SendOutcome<T> {
  if (sends === 0) return { kind: 'not-sent', error };
  // A refusal of a repeated request does not show the result of the earlier request. A 429 alone is no proof either: a proxy may
  // count a request that it has passed on.
  if (unprocessed === sends && throttled === 0 && before === 'never') {
    if (error instanceof RefusedError) return { kind: 'answered', answer: { verdict: 'refused', error } };
    if (isLimit(error)) return { kind: 'answered', answer: { verdict: 'limited', error } };
    return { kind: 'not-sent', error };
  }
  // Only the last request can have reached the service, unless a proxy on the way has repeated it.
  const isOnlyRequest = sends - unprocessed === 1 && before === 'never' && !mayBeEarlier(error, throttled);
  if (
    error instanceof RejectedError &&
    isConclusive(error) &&
    (isOnlyRequest || appliesToEarlierRequest(error, before))
  ) {
    return { kind: 'answered', answer: { verdict: 'rejected', error } };
  }
  return { kind: 'in-doubt', error };
}

/**
 * Whether a failure is a response that shows that the service has not processed the request. A 429 shows it only if a later
 * response confirms it: then the service has no result for the idempotency key.
 */
export function isUnprocessed(error: unknown): error is RefusedError | TransientError {
  // The answer of an earlier request says nothing about this one.
  if (error instanceof ServiceError && error.write?.meaning === 'stored') return false;
  if (error instanceof RefusedError) return isConclusive(error);
  if (!(error instanceof TransientError) || !isConclusive(error)) return false;
  return error.status === 429 || isLimit(error);
}

/**
 * Whether a request can be repeated although the service does not honour idempotency keys. A 429 that names its wait or its limit comes from
 * the service; any other one may be a proxy's, which may have passed the request on.
 */
export function mayRepeatWithoutKey(error: ServiceError): boolean {
  return isUnprocessed(error) && error.write?.meaning !== 'throttled';
}

/** Whether a failure is a refusal that points to a limit or to a proxy, or a 429 whose headers say how long or what for. */
function isLimit(error: unknown): error is TransientError {
  if (!(error instanceof TransientError) || !isConclusive(error)) return false;
  return error.refusal !== null || error.write?.meaning === 'limit';
}

/** After a 5xx or a 408 the service may have executed the request, however the configuration classifies the status. */
function isConclusive({ status }: ServiceError): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408;
}

/**
 * Whether a rejection may be about an earlier request for the same record: one with this idempotency key, which then decides; or
 * one that a proxy has passed on although it answered 429. Only a rejection of the content shows that this one was not.
 */
function mayBeEarlier(error: unknown, throttled: number): boolean {
  const meaning = error instanceof RejectedError ? error.write?.meaning : undefined;
  return meaning === 'in-progress' || (meaning !== 'rejected' && throttled > 0);
}

const IDEMPOTENCY = /idempoten/i;

/** Statuses about the content of a request. Others may be about a proxy, a route or the earlier request. */
const CONTENT_STATUSES: readonly (number | null)[] = [400, 422];

/**
 * Whether a rejection of a repeated request also applies to the earlier request. The service answers a repeated
 * Idempotency-Key with the original result (docs/service-api.md#requests), so a rejection of the content means that no
 * request created a record. This does not hold once the service may have forgotten the key. It also does not hold for a
 * message that may be cut, and for one about the API key, the plan or the Idempotency-Key, which the service checks before
 * it looks up the result.
 */
function appliesToEarlierRequest(error: RejectedError, before: SentBefore): boolean {
  const { status, serviceMessage, isCut, write } = error;
  // The record may be that of the earlier request.
  if (write?.meaning === 'exists') return false;
  if (before === 'forgotten' || isCut || !CONTENT_STATUSES.includes(status)) return false;
  const message = serviceMessage ?? '';
  return !IDEMPOTENCY.test(message) && refusalScope(400, message) === 'grant';
}
