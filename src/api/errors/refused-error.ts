import { ServiceError, type ServiceErrorOptions } from './service-error.js';

/** What the service refuses: `key` and `plan` end the whole run, `grant` ends its resource (docs/explanation/guarantees.md#errors). */
export type RefusalScope = 'key' | 'plan' | 'grant';

/** The service refuses the request until a person changes the key, its grants or the plan. */
export class RefusedError extends ServiceError {
  readonly code = 'SERVICE_REFUSED';
  override readonly kind = 'refused';
  readonly scope: RefusalScope;

  constructor(message: string, options: ServiceErrorOptions & { readonly scope: RefusalScope }) {
    super(message, options);
    this.scope = options.scope;
  }

  override get failureDetail(): object {
    return { scope: this.scope, status: this.status, resource: this.resource };
  }
}
