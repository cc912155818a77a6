export { ALL_REMOVED, addRemovals, type Removal, removalWarning } from '../../core/removal.js';
export { ObjectNotFoundError } from './errors/object-not-found-error.js';
export { StoreError, type StoreErrorKind } from './errors/store-error.js';
export { StoreUnclearError } from './errors/store-unclear-error.js';
export { HeldStore } from './held-store.js';
export { toObjectKey } from './key.js';
export { openStore } from './open.js';
export type {
  ConditionalWrites,
  Expected,
  ListedObject,
  ObjectStore,
  ObjectWriter,
  StoreLogger,
  SwapResult,
  WrittenObject,
} from './port.js';
export { conditionProblem, PROBES } from './probe.js';
export { type StoreLimit, storeLimits } from './s3/limits.js';
