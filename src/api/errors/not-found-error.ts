import { ServiceError } from './service-error.js';

/** 404 on a list: on a first page, the service has no such resource (docs/explanation/guarantees.md#page-size). */
export class NotFoundError extends ServiceError {
  readonly code = 'SERVICE_NOT_FOUND';
  override readonly kind = 'not-found';
}
