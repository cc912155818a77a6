import type { Cursor } from '../../core/brands.js';
import { WorktrackError } from '../../core/errors.js';
import type { Evidence } from '../evidence.js';

/** How a caller handles an error of the service (docs/explanation/guarantees.md#errors). */
export type ServiceErrorKind = 'refused' | 'transient' | 'broken-promise' | 'not-found' | 'rejected';

/** The request that failed. All texts are redacted. */
export interface RequestContext {
  readonly method: string;
  readonly resource: string;
  /** Origin, path and query; never a credential. */
  readonly url: string;
  readonly cursor: Cursor | null;
  /** From 1. */
  readonly attempt: number;
}

export interface ServiceErrorOptions {
  readonly request?: RequestContext | null | undefined;
  readonly status?: number | null | undefined;
  /** The service's error message, redacted and shortened. */
  readonly serviceMessage?: string | null | undefined;
  /** Wait that the service requested, counted from when the error is thrown. */
  readonly retryAfterMs?: number | null | undefined;
  /** What the classification of the response rests on. Default: `status`. */
  readonly evidence?: Evidence | undefined;
  readonly cause?: unknown;
}

/** Base of all errors of a request to the service. */
export abstract class ServiceError extends WorktrackError {
  abstract readonly kind: ServiceErrorKind;
  readonly method: string | null;
  readonly resource: string | null;
  readonly url: string | null;
  readonly cursor: Cursor | null;
  readonly attempt: number | null;
  readonly status: number | null;
  readonly serviceMessage: string | null;
  readonly retryAfterMs: number | null;
  readonly evidence: Evidence;

  constructor(message: string, options: ServiceErrorOptions = {}) {
    super(message, options);
    const request = options.request ?? null;
    this.method = request?.method ?? null;
    this.resource = request?.resource ?? null;
    this.url = request?.url ?? null;
    this.cursor = request?.cursor ?? null;
    this.attempt = request?.attempt ?? null;
    this.status = options.status ?? null;
    this.serviceMessage = options.serviceMessage ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.evidence = options.evidence ?? 'status';
  }

  /** What the failure of an activity says besides the message. */
  get failureDetail(): object {
    return { resource: this.resource };
  }
}
