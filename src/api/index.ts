/** The service's HTTP client (spec/work-tracking-api-v2.md). */

export { resolveSecret, type Secret, SecretReader } from '../core/secrets.js';
export { isUtcSeconds } from '../core/utc-time.js';
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
export { REFUSAL_REMEDY } from './failure.js';
export { parseHttpDate } from './http-date.js';
export { type JsonPost, postJson } from './post-json.js';
export { boundMessage, createRedactor, REDACTED, type Redactor } from './redact.js';
export { MAX_RETRY_AFTER_MS, parseRetryAfter } from './retry-after.js';
export type { SendAnswer, SendFailure, SendOutcome, SentBefore } from './send-outcome.js';
export { outcomeOfFailure } from './send-outcome.js';
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
export { API_PATH, apiRoot, type RecordSegment, type Segment } from './url.js';
