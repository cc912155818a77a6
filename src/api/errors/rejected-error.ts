import { ServiceError } from './service-error.js';

/**
 * The service will not take this request as it stands: a limit that is too large, a cursor it has forgotten, a row it
 * finds invalid. What follows is the caller's decision. `status` is null when the request could not be expressed as a
 * URL and so was never sent.
 */
export class RejectedError extends ServiceError {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    RejectedError.prototype.name = 'RejectedError';
  }
  override readonly code = 'SERVICE_REJECTED';
  override readonly kind = 'rejected';
}
