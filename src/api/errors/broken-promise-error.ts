import type { ErrorCode } from '../../core/errors.js';
import { ServiceError, type ServiceErrorOptions } from './service-error.js';

interface BrokenPromiseErrorOptions extends ServiceErrorOptions {
  /** Index of the invalid record in `data`, from 0. */
  readonly row?: number | null | undefined;
}

/** A well-formed response that violates the API, such as a list without `data`. A retry does not help. */
export class BrokenPromiseError extends ServiceError {
  readonly code: ErrorCode = 'SERVICE_BROKEN_PROMISE';
  override readonly kind = 'broken-promise';
  readonly row: number | null;

  constructor(message: string, options: BrokenPromiseErrorOptions = {}) {
    super(message, options);
    this.row = options.row ?? null;
  }
}
