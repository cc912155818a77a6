import { ServiceError } from './service-error.js';

/** 404 on a list: on a first page, the service has no such resource (docs/explanation/semantics.md#page-size). */
export class NotFoundError extends ServiceError {
  static {
    // On the prototype: stack traces show it, and `inspect` does not repeat it.
    NotFoundError.prototype.name = 'NotFoundError';
  }
  override readonly code = 'SERVICE_NOT_FOUND';
  override readonly kind = 'not-found';
}
