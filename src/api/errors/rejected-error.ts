import { ServiceError, type ServiceErrorOptions } from './service-error.js';

/**
 * The service rejects this request: for example a limit that is too large, an expired cursor or an invalid row. The
 * caller decides how to continue. `status` is null when the request cannot be written as a URL and was never sent.
 */
export class RejectedError extends ServiceError {
  readonly code = 'SERVICE_REJECTED';
  override readonly kind = 'rejected';
  /** Whether the service's message may be cut. Then its wording proves nothing. */
  readonly isCut: boolean;

  constructor(message: string, options: ServiceErrorOptions & { readonly isCut?: boolean } = {}) {
    super(message, options);
    this.isCut = options.isCut ?? false;
  }
}
