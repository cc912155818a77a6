import { ServiceError, type ServiceErrorOptions } from './service-error.js';

export interface BrokenPromiseErrorOptions extends ServiceErrorOptions {
  /** Index of the record in `data`, from 0, where one record is at fault. */
  readonly row?: number | null | undefined;
}

/** A well-formed answer that breaks a promise of the spec, such as a list without `data`: asking again is no use. */
export class BrokenPromiseError extends ServiceError {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    BrokenPromiseError.prototype.name = 'BrokenPromiseError';
  }
  override readonly code: string = 'SERVICE_BROKEN_PROMISE';
  override readonly kind = 'broken-promise';
  readonly row: number | null;

  constructor(message: string, options: BrokenPromiseErrorOptions = {}) {
    super(message, options);
    this.row = options.row ?? null;
  }
}
