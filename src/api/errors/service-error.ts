import type { Cursor } from '../../core/brands.js';

/** How a caller handles an error of the service (DESIGN 3.12). */
export type ServiceErrorKind = 'refused' | 'transient' | 'broken-promise' | 'not-found' | 'rejected';

/** The request that an error belongs to. Every text in it has been redacted. */
export interface RequestContext {
  readonly method: string;
  readonly resource: string;
  /** Origin, path and query; never a credential. */
  readonly url: string;
  readonly cursor: Cursor | null;
  /** 1 for the first try. */
  readonly attempt: number;
}

export interface ServiceErrorOptions {
  readonly request?: RequestContext | null | undefined;
  readonly status?: number | null | undefined;
  /** What the service said about it: redacted and bounded. */
  readonly serviceMessage?: string | null | undefined;
  /** How long the service asked to be left alone, counted from the moment the error is thrown. */
  readonly retryAfterMs?: number | null | undefined;
  readonly cause?: unknown;
}

/** What all errors of a request to the service have in common. `code` and `kind` are stable; the message is not. */
export abstract class ServiceError extends Error {
  abstract readonly code: string;
  abstract readonly kind: ServiceErrorKind;
  readonly method: string | null;
  readonly resource: string | null;
  readonly url: string | null;
  readonly cursor: Cursor | null;
  readonly attempt: number | null;
  readonly status: number | null;
  readonly serviceMessage: string | null;
  readonly retryAfterMs: number | null;

  constructor(message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const request = options.request ?? null;
    this.method = request?.method ?? null;
    this.resource = request?.resource ?? null;
    this.url = request?.url ?? null;
    this.cursor = request?.cursor ?? null;
    this.attempt = request?.attempt ?? null;
    this.status = options.status ?? null;
    this.serviceMessage = options.serviceMessage ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
