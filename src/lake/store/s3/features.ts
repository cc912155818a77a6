import type { StoreLogger } from '../port.js';

/**
 * How large uploads are checked. `whole`: the store compares a CRC32 of the whole object. `parts`: it compares one for each
 * part. `none`: it accepts no checksums, so this process reads the object again.
 */
export type UploadChecksums = 'whole' | 'parts' | 'none';

/**
 * What a store has turned out not to do, so that each request is refused only once. All stores that share a client share
 * this. It begins with what AWS S3 does.
 */
export interface StoreFeatures {
  uploadChecksums: UploadChecksums;
  /** The search for the checksums that the store accepts, while it is in progress or after it has ended. */
  learning: Promise<UploadChecksums> | null;
  /** Whether it removes many objects with one request. */
  removesBatches: boolean;
  /** Whether it copies objects. */
  copies: boolean;
  /** Warnings that were logged. */
  readonly logged: Set<string>;
}

export function allFeatures(): StoreFeatures {
  return { uploadChecksums: 'whole', learning: null, removesBatches: true, copies: true, logged: new Set() };
}

/** Logs once what a store does not do, and what is done instead. @param said the store's words */
export function logMissing(
  features: StoreFeatures,
  logger: StoreLogger,
  what: string,
  said: string | null,
): void {
  if (features.logged.has(what)) return;
  features.logged.add(what);
  logger.warn(said === null ? what : `${what}. The store said: ${said}`);
}
