/** The service's HTTP client (spec/work-tracking-api-v2.md). */

export { resolveSecret, SecretReader } from '../core/secrets.js';
export { isUtcSeconds } from '../core/utc-time.js';
export { BACKOFF_BASE_MS, backoffDelayMs } from './backoff.js';
export { type Acquired, type Lease, RateBudget } from './budget.js';
export {
  type Classifiable,
  type Classification,
  classifyResponse,
  classifyStatus,
  isSuccess,
  refusalScope,
} from './classify.js';
export { createServiceClient } from './client.js';
export { BrokenPromiseError } from './errors/broken-promise-error.js';
export { NotFoundError } from './errors/not-found-error.js';
export { RefusedError } from './errors/refused-error.js';
export { RejectedError } from './errors/rejected-error.js';
export { ServiceError } from './errors/service-error.js';
export { TransientError } from './errors/transient-error.js';
export type { Evidence } from './evidence.js';
export { REFUSAL_REMEDY } from './failure.js';
export { isTooLarge, mayBeTooHeavy } from './heavy.js';
export { parseHttpDate } from './http-date.js';
export { postAlert, targetPath } from './post-alert.js';
export { type JsonAnswer, postJson } from './post-json.js';
export { boundMessage, createRedactor, REDACTED } from './redact.js';
export { parseRetryAfter } from './retry-after.js';
export type { SendAnswer, SendOutcome, SentBefore } from './send-outcome.js';
export type {
  FetchRequest,
  ListRequest,
  Received,
  ReceivedPage,
  ResponseFacts,
  SendRequest,
  ServiceClient,
  ServiceClientOptions,
  ServiceEvent,
} from './service-client.js';
export { apiRoot, recordSegments, type Segment } from './url.js';
