import { BrokenPromiseError } from './broken-promise-error.js';
import type { ServiceErrorOptions } from './service-error.js';

/** One response is larger than `http.maxBody`. A smaller page may fit; a retry does not help. */
export class BodyTooLargeError extends BrokenPromiseError {
  override readonly code = 'SERVICE_BODY_TOO_LARGE';
  readonly maxBodyBytes: number;

  constructor(message: string, options: ServiceErrorOptions & { readonly maxBodyBytes: number }) {
    super(message, options);
    this.maxBodyBytes = options.maxBodyBytes;
  }
}
