/** The service's HTTP client (spec/work-tracking-api-v2.md). */
export { BACKOFF_BASE_MS, backoffDelayMs } from './backoff.js';
export {
  type Acquired,
  type AcquireOptions,
  type Lease,
  type LeaseOutcome,
  RateBudget,
  type RateBudgetOptions,
  type RateBudgetState,
} from './budget.js';
export { classifyStatus, refusalScope, type StatusClass } from './classify.js';
export { createServiceClient } from './client.js';
export { BodyTooLargeError } from './errors/body-too-large-error.js';
export { BrokenPromiseError, type BrokenPromiseErrorOptions } from './errors/broken-promise-error.js';
export { NotFoundError } from './errors/not-found-error.js';
export { type RefusalScope, RefusedError } from './errors/refused-error.js';
export { RejectedError } from './errors/rejected-error.js';
export {
  type RequestContext,
  ServiceError,
  type ServiceErrorKind,
  type ServiceErrorOptions,
} from './errors/service-error.js';
export { TransientError, type TransientReason } from './errors/transient-error.js';
export { parseHttpDate } from './http-date.js';
export { type JsonPost, postJson } from './post-json.js';
export { boundMessage, createRedactor, REDACTED, type Redactor } from './redact.js';
export { MAX_RETRY_AFTER_MS, parseRetryAfter } from './retry-after.js';
export { resolveSecret, type Secret, SecretReader } from './secrets.js';
export type {
  FetchRequest,
  ListRequest,
  Received,
  RequestOutcome,
  RetrySettings,
  SendRequest,
  ServiceClient,
  ServiceClientOptions,
  ServiceEvent,
  WaitReason,
} from './service-client.js';
export { API_PATH, apiRoot, isUtcSeconds } from './url.js';
