/** The service's HTTP client (docs/service-api.md). */

export { resolveSecret, SecretReader } from '../core/secrets.js';
export { isUtcSeconds } from '../core/utc-time.js';
export { BACKOFF_BASE_MS, backoffDelayMs } from './backoff.js';
export { type Acquired, type Lease, RateBudget } from './budget.js';
export {
  classifyResponse,
  classifyStatus,
  isSuccess,
  type ResponseSigns,
  refusalScope,
} from './classify-response.js';
export {
  BrokenPromiseError,
  isTooLarge,
  mayBeTooHeavy,
  NotFoundError,
  RefusedError,
  RejectedError,
  ServiceError,
  TransientError,
} from './errors.js';
export { createServiceClient } from './http-service-client.js';
export { inBackground, ShownKeys, withKeyGuard } from './key-guard.js';
export { postAlert, postPublished, targetPath } from './post-alert.js';
export { type JsonAnswer, postJson } from './post-json.js';
export { boundMessage, createRedactor, quoteText, REDACTED } from './redact.js';
export type {
  FetchRequest,
  KeyGuard,
  ListBody,
  ListRequest,
  Received,
  ReceivedPage,
  ResponseFacts,
  SendAnswer,
  SendOutcome,
  SendRequest,
  SentBefore,
  ServiceClient,
  ServiceClientOptions,
  ServiceEvent,
} from './service-client.js';
export { REFUSAL_REMEDY, roughly } from './service-failure.js';
export { reportsFailure } from './service-message.js';
export { apiRoot, displayQuery, listName, recordSegments, type Segment } from './url.js';
