import { type ErrorCode, WorktrackError } from '../core/errors.js';
import { systemCode } from '../core/system-error.js';

/**
 * What a classification rests on: the status; a header that says when to come back or that a limit is used up; the words
 * of the response, which are weak evidence; a page of a proxy or firewall that tests for a browser.
 */
export type Evidence = 'status' | 'header' | 'words' | 'challenge';

/** How a caller handles an error of the service (docs/explanation/guarantees.md#errors). */
export type ServiceErrorKind = 'refused' | 'transient' | 'broken-promise' | 'not-found' | 'rejected';

/**
 * What a complete answer to a write says (docs/explanation/guarantees.md#write-back). Evidence comes before the status.
 * - `success`: a 2xx; its body decides.
 * - `rejected`: the row's content is not accepted. `exists`: there is such a record, perhaps that of an earlier request.
 * - `refused`: the key, the plan or a grant. `missing`: 404 or 405, of the service or of something in front of it.
 * - `limit`: to be waited for; a header says so, and that the request was not processed. `limit-in-words`: only words do.
 *   `throttled`: a bare 429, which a proxy may send for a request that it has passed on.
 * - `conflict`: another request changes the same data; this one was not processed. `in-progress`: an earlier request with the
 *   same idempotency key is not finished.
 * - `stored`: the answer to an earlier request with the same key, which every repetition gets again.
 * - `challenge`: a page of a firewall. `failed`: anything else; the row may have been written.
 */
export type WriteMeaning =
  | 'success'
  | 'rejected'
  | 'exists'
  | 'refused'
  | 'missing'
  | 'limit'
  | 'limit-in-words'
  | 'throttled'
  | 'conflict'
  | 'in-progress'
  | 'stored'
  | 'challenge'
  | 'failed';

/** A complete answer to a write, other than a 2xx. */
export interface WriteAnswer {
  readonly meaning: WriteMeaning;
  /** Equal for equal answers: status and body, byte by byte. */
  readonly sameness: string;
  /** Whether another answer would differ: it has a time, or the id of a request. */
  readonly isMarked: boolean;
}

interface ServiceErrorOptions {
  readonly resource?: string | undefined;
  readonly status?: number | null | undefined;
  /** The service's error message, redacted and shortened. */
  readonly serviceMessage?: string | null | undefined;
  /** Wait that the service requested, counted from when the error is thrown. */
  readonly retryAfterMs?: number | null | undefined;
  /** What the classification of the response rests on. Default: `status`. */
  readonly evidence?: Evidence | undefined;
  /** What a complete answer to a write says. */
  readonly write?: WriteAnswer | undefined;
  readonly cause?: unknown;
}

/** Base of all errors of a request to the service. */
export abstract class ServiceError extends WorktrackError {
  abstract readonly kind: ServiceErrorKind;
  readonly resource: string | null;
  readonly status: number | null;
  readonly serviceMessage: string | null;
  readonly retryAfterMs: number | null;
  readonly evidence: Evidence;
  /** What a complete answer to a write says; `null` for a read, and without a complete answer. */
  readonly write: WriteAnswer | null;

  constructor(message: string, options: ServiceErrorOptions = {}) {
    super(message, options);
    this.resource = options.resource ?? null;
    this.status = options.status ?? null;
    this.serviceMessage = options.serviceMessage ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.evidence = options.evidence ?? 'status';
    this.write = options.write ?? null;
  }

  /** What the failure of an activity says besides the message. */
  get failureDetail(): object {
    return { resource: this.resource };
  }
}

/** What the service refuses: `key` and `plan` end the whole run, `grant` ends its resource (docs/explanation/guarantees.md#errors). */
export type RefusalScope = 'key' | 'plan' | 'grant';

/** The service refuses the request until a person changes the key, its grants or the plan. */
export class RefusedError extends ServiceError {
  readonly code = 'SERVICE_REFUSED';
  override readonly kind = 'refused';
  readonly scope: RefusalScope;

  /** Whether the service's words name a cause that no key, grant or plan repairs, such as the client's address. */
  readonly isOther: boolean;

  constructor(
    message: string,
    options: ServiceErrorOptions & { readonly scope: RefusalScope; readonly isOther?: boolean },
  ) {
    super(message, options);
    this.isOther = options.isOther ?? false;
    this.scope = options.scope;
  }

  override get failureDetail(): object {
    return { scope: this.scope, status: this.status, resource: this.resource };
  }
}

/**
 * `hold`: not sent, because the service requires a long wait; `expired`: not sent, because the deadline for the request
 * has passed; `cut`: the body ends too early; `malformed`: the response breaks HTTP, or its length is wrong.
 */
export type TransientReason =
  | 'network'
  | 'timeout'
  | 'status'
  | 'redirect'
  | 'body'
  | 'cut'
  | 'malformed'
  | 'hold'
  | 'expired';

/**
 * How long retries can help: `long`: hours; `short`: a few retries within a minute show whether the failure lasts; `brief`: as
 * `short`, with one retry less; `none`: no wait that the configuration allows is long enough.
 */
type Patience = 'long' | 'short' | 'brief' | 'none';

/**
 * A failure that a later retry may fix. Thrown when the retries in this process are used up or the wait would be too
 * long. `retryAfterMs` is then the time for a durable wait, if the service gave one.
 */
export class TransientError extends ServiceError {
  readonly code = 'SERVICE_TRANSIENT';
  override readonly kind = 'transient';
  readonly reason: TransientReason;
  readonly patience: Patience;
  /**
   * What the status means at its word, if evidence (see `evidence`) made a refusal transient; otherwise null. A caller
   * that has waited long enough throws it instead: after 15 minutes if the evidence is only `words`.
   */
  readonly refusal: RefusedError | null;

  constructor(
    message: string,
    options: ServiceErrorOptions & {
      readonly reason: TransientReason;
      readonly refusal?: RefusedError | null | undefined;
      /** Default: `long`. */
      readonly patience?: Patience | undefined;
    },
  ) {
    super(message, options);
    this.reason = options.reason;
    this.refusal = options.refusal ?? null;
    this.patience = options.patience ?? 'long';
  }

  /** With a shorter time limit, the requests of this process were all that could help. */
  override get retryable(): boolean {
    return this.patience === 'long';
  }
}

/**
 * The service rejects this request: for example a limit that is too large, an expired cursor or an invalid row. The
 * caller decides how to continue. `status` is null when the request cannot be written as a URL and was never sent.
 */
export class RejectedError extends ServiceError {
  readonly code = 'SERVICE_REJECTED';
  override readonly kind = 'rejected';
  /** Whether the service's message may be cut. Then its wording proves nothing. */
  readonly isCut: boolean;
  /** What the body says besides the message, redacted and shortened, for classification by wording; empty: nothing. */
  readonly details: string;

  constructor(
    message: string,
    options: ServiceErrorOptions & { readonly isCut?: boolean; readonly details?: string } = {},
  ) {
    super(message, options);
    this.isCut = options.isCut ?? false;
    this.details = options.details ?? '';
  }
}

/** 404 on a list: on a first page, the service has no such resource (docs/explanation/guarantees.md#page-size). */
export class NotFoundError extends ServiceError {
  readonly code = 'SERVICE_NOT_FOUND';
  override readonly kind = 'not-found';
}

/** A well-formed response that violates the API, such as a list without `data`. A retry does not help. */
export class BrokenPromiseError extends ServiceError {
  readonly code: ErrorCode = 'SERVICE_BROKEN_PROMISE';
  override readonly kind = 'broken-promise';
  /** Index of the invalid record in `data`, from 0. */
  readonly row: number | null;

  constructor(message: string, options: ServiceErrorOptions & { readonly row?: number | null } = {}) {
    super(message, options);
    this.row = options.row ?? null;
  }
}

/** One response is larger than `http.maxBody`. A smaller page may fit; a retry does not help. */
export class BodyTooLargeError extends BrokenPromiseError {
  override readonly code = 'SERVICE_BODY_TOO_LARGE';
}

/** Statuses of a gateway or server that gave up on a request: RFC 9110, and 520, 522 and 524 of Cloudflare. */
const GAVE_UP: ReadonlySet<number | null> = new Set([500, 502, 504, 520, 522, 524]);
/** Errors of connections that were never made: the size of a page does not matter. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const PAYLOAD_TOO_LARGE = 413;

/**
 * Whether a failure can mean that the service cannot produce a page of this size, or that something between cannot carry it.
 * 503, 429 and `Retry-After` mean a wait.
 */
export function mayBeTooHeavy(error: unknown): boolean {
  if (!(error instanceof TransientError) || error.retryAfterMs !== null || error.refusal !== null)
    return false;
  switch (error.reason) {
    case 'status':
      return GAVE_UP.has(error.status);
    case 'network':
    case 'timeout':
      return !UNREACHABLE.has(systemCode(error.cause));
    default:
      return error.reason === 'cut';
  }
}

/** Whether a failure proves that the page is too large. */
export function isTooLarge(error: unknown): boolean {
  return (
    error instanceof BodyTooLargeError ||
    (error instanceof RejectedError && error.status === PAYLOAD_TOO_LARGE)
  );
}
