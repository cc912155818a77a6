import { ServiceError, type ServiceErrorOptions } from './service-error.js';

/** `hold`: nothing was sent, because the service has asked this connection to wait for long. */
export type TransientReason = 'network' | 'timeout' | 'status' | 'redirect' | 'body' | 'hold';

/**
 * Trouble that time may cure. It is thrown when the retries in the process are used up or the wait would be too long;
 * `retryAfterMs` then says for how long to wait durably, where the service named a time.
 */
export class TransientError extends ServiceError {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    TransientError.prototype.name = 'TransientError';
  }
  override readonly code = 'SERVICE_TRANSIENT';
  override readonly kind = 'transient';
  readonly reason: TransientReason;

  constructor(message: string, options: ServiceErrorOptions & { readonly reason: TransientReason }) {
    super(message, options);
    this.reason = options.reason;
  }
}
