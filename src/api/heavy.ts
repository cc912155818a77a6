import { BodyTooLargeError } from './errors/body-too-large-error.js';
import { RejectedError } from './errors/rejected-error.js';
import { TransientError } from './errors/transient-error.js';

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
      return !UNREACHABLE.has((error.cause as { code?: unknown } | undefined)?.code);
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
