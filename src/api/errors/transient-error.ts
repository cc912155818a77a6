import type { RefusedError } from './refused-error.js';
import { ServiceError, type ServiceErrorOptions } from './service-error.js';

/**
 * `hold`: not sent, because the service requires a long wait; `expired`: not sent, because the deadline for the request
 * has passed; `cut`: the body ends too early.
 */
export type TransientReason =
  | 'network'
  | 'timeout'
  | 'status'
  | 'redirect'
  | 'body'
  | 'cut'
  | 'hold'
  | 'expired';

/**
 * How long retries can help: `long`: hours; `short`: a few retries within a minute show whether the failure lasts; `none`:
 * no wait that the configuration allows is long enough.
 */
type Patience = 'long' | 'short' | 'none';

/**
 * A failure that a later retry may fix. Thrown when the retries in this process are used up or the wait would be too
 * long. `retryAfterMs` is then the time for a durable wait, if the service gave one.
 */
export class TransientError extends ServiceError {
  readonly code = 'SERVICE_TRANSIENT';
  override readonly kind = 'transient';
  readonly reason: TransientReason;
  readonly patience: Patience;
  /**
   * What the status means at its word, if evidence (see `evidence`) made a refusal transient; otherwise null. A caller
   * that has waited long enough throws it instead: after 15 minutes if the evidence is only `words`.
   */
  readonly refusal: RefusedError | null;

  constructor(
    message: string,
    options: ServiceErrorOptions & {
      readonly reason: TransientReason;
      readonly refusal?: RefusedError | null | undefined;
      /** Default: `long`. */
      readonly patience?: Patience | undefined;
    },
  ) {
    super(message, options);
    this.reason = options.reason;
    this.refusal = options.refusal ?? null;
    this.patience = options.patience ?? 'long';
  }

  /** With a shorter time limit, the requests of this process were all that could help. */
  override get retryable(): boolean {
    return this.patience === 'long';
  }
}
