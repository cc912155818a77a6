import type { LakeSettings } from '../../core/settings.js';
import { FileStore } from './file/store.js';
import { parseLocation } from './location.js';
import type { ObjectStore, StoreLogger } from './port.js';
import { S3Store } from './s3/store.js';

interface OpenStoreOptions {
  /** Default: warnings are dropped. */
  readonly logger?: StoreLogger | undefined;
}

/**
 * Opens the store of a lake's URL: `s3://bucket/prefix` or `file:///absolute/folder`. It sends no request yet.
 * Throws a StoreError of kind `invalid-key` for any other URL.
 *
 * @example
 * const store = openStore(connection.lake);
 * try {
 *   const { manifest } = await readPublished(store, 'tasks');
 * } finally {
 *   store.close();
 * }
 */
export function openStore(lake: LakeSettings, options: OpenStoreOptions = {}): ObjectStore {
  const location = parseLocation(lake.url);
  const logger = options.logger ?? { warn: () => {} };
  return location.type === 's3'
    ? new S3Store(lake, location, { logger })
    : new FileStore(location.folder, { logger });
}
