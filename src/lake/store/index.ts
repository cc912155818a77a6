export { ALL_REMOVED, addRemovals, type Removal } from '../../core/removal.js';
export {
  isUnread,
  nullIfNotFound,
  ObjectNotFoundError,
  StoreError,
  type StoreErrorKind,
  StoreUnclearError,
} from './errors.js';
export { type HeldStore, holdObjects, MAX_COPY_BYTES } from './held-store.js';
export { toObjectKey } from './key.js';
export { openStore } from './open.js';
export type {
  Expected,
  ListedObject,
  ListOptions,
  ObjectStore,
  ObjectWriter,
  StoreLogger,
  SwapResult,
  WrittenObject,
} from './port.js';
export { collected } from './port.js';
export {
  type ConditionalWrites,
  conditionProblem,
  PROBES,
  probeConditionalWrites,
  raceConditionalWrites,
  tryConditionalWrites,
} from './probe-conditions.js';
export { type StoreLimit, storeLimits } from './s3/s3-client.js';
