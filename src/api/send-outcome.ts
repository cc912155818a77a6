import { refusalScope } from './classify.js';
import { RefusedError } from './errors/refused-error.js';
import { RejectedError } from './errors/rejected-error.js';
import type { ServiceError } from './errors/service-error.js';
import { TransientError } from './errors/transient-error.js';
import type { Received } from './service-client.js';

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
  | { readonly verdict: 'accepted'; readonly received: Received<T> }
  /** The service does not allow this connection to write, or not this record. It has not processed the record. */
  | { readonly verdict: 'refused'; readonly error: RefusedError }
  /** A refusal that points to a limit (`error.evidence`). The service has not processed the record. */
  | { readonly verdict: 'limited'; readonly error: TransientError }
  /** The service rejects this record. */
  | { readonly verdict: 'rejected'; readonly error: RejectedError };

/** A failed write. */
interface SendFailure {
  readonly error: unknown;
  /** How many times this call handed the request to a connection. */
  readonly sends: number;
  /** How many of these ended with a response that shows that the service has not processed the record (`isUnprocessed`). */
  readonly unprocessed: number;
  readonly before: SentBefore;
}

/**
 * Determines the outcome of a failed write (docs/explanation/guarantees.md#errors). If it is unclear, the record counts as
 * possibly written: a row wrongly considered unsent becomes a second record, but one wrongly considered sent is only
 * reported.
 */
export function outcomeOfFailure<T>({ error, sends, unprocessed, before }: SendFailure): SendOutcome<T> {
  if (sends === 0) return { kind: 'not-sent', error };
  // A refusal of a repeated request does not show the result of the earlier request.
  if (unprocessed === sends && before === 'never') {
    if (error instanceof RefusedError) return { kind: 'answered', answer: { verdict: 'refused', error } };
    if (isLimit(error)) return { kind: 'answered', answer: { verdict: 'limited', error } };
    // A 429 alone is no proof: a proxy may count a request that it has passed on.
    if (!isUnprocessed(error)) return { kind: 'not-sent', error };
  }
  // Only the last request can have reached the service.
  const isOnlyRequest = sends - unprocessed === 1 && before === 'never';
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
  if (error instanceof RefusedError) return isConclusive(error);
  if (!(error instanceof TransientError) || !isConclusive(error)) return false;
  return error.status === 429 || isLimit(error);
}

/** Whether a failure is a refusal that points to a limit, or to a proxy. */
function isLimit(error: unknown): error is TransientError {
  return error instanceof TransientError && error.refusal !== null;
}

/** After a 5xx or a 408 the service may have executed the request, however the configuration classifies the status. */
function isConclusive({ status }: ServiceError): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408;
}

/** Statuses about the content of a request. Others may be about a proxy, a route or the earlier request. */
const CONTENT_STATUSES: readonly (number | null)[] = [400, 422];

/**
 * Whether a rejection of a repeated request also applies to the earlier request. The service answers a repeated
 * Idempotency-Key with the original result (spec, "Idempotency rule"), so a rejection of the content means that no
 * request created a record. This does not hold once the service may have forgotten the key. It also does not hold for a
 * message that may be cut, and for one about the API key, the plan or the Idempotency-Key, which the service checks before
 * it looks up the result.
 */
function appliesToEarlierRequest(error: RejectedError, before: SentBefore): boolean {
  const { status, serviceMessage, isCut } = error;
  if (before === 'forgotten' || isCut || !CONTENT_STATUSES.includes(status)) return false;
  const message = serviceMessage ?? '';
  return !/idempoten/i.test(message) && refusalScope(400, message) === 'grant';
}
