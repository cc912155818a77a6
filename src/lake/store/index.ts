export { ObjectNotFoundError } from './errors/object-not-found-error.js';
export { StoreError, type StoreErrorKind } from './errors/store-error.js';
export { StoreUnclearError } from './errors/store-unclear-error.js';
export { toObjectKey } from './key.js';
export { type OpenStoreOptions, openStore } from './open.js';
export type {
  ByteRange,
  ConditionalWrites,
  Expected,
  ListedObject,
  ObjectInfo,
  ObjectStore,
  ObjectWriter,
  ReadOptions,
  StoreLogger,
  SwapResult,
  WriteOptions,
  WrittenObject,
} from './port.js';
export { PROBES } from './probe.js';
