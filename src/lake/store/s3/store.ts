import type { LakeSettings } from '../../../core/settings.js';
import { checkWritten } from '../../size-limits.js';
import { nullIfNotFound } from '../errors.js';
import { joined, type ObjectStore, type StoreLogger } from '../port.js';
import { S3Connection } from './connection.js';
import { copyObject } from './copy.js';
import { listFolders, listObjects } from './list.js';
import { headObject, streamObject } from './read.js';
import { abortUploads, removeObjects } from './remove.js';
import { probeUploads } from './start-upload.js';
import { putObject, S3Writer, swapObject } from './write.js';

/** A lake in a bucket of S3 or of an S3-compatible store. */
export function s3Store(
  lake: LakeSettings,
  place: { bucket: string; prefix: string },
  logger: StoreLogger,
): ObjectStore {
  const s3 = new S3Connection(lake, place, logger);
  return {
    url: `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`,
    read: (key, options) => joined(streamObject(s3, key, { ...options, isHeld: true })),
    async readIfExists(key, { signal } = {}) {
      let etag = '';
      const onEtag = (found: string) => {
        etag = found;
      };
      const body = await joined(streamObject(s3, key, { signal, onEtag, isHeld: true })).catch(
        nullIfNotFound,
      );
      return body && { body, etag };
    },
    stream: (key, options) => streamObject(s3, key, options),
    async write(key, body, options = {}) {
      checkWritten(key, body);
      return putObject(s3, key, body, options);
    },
    openWriter: (key, options) => new S3Writer(s3, key, options),
    async swap(key, body, expected) {
      checkWritten(key, body);
      return swapObject(s3, key, body, expected);
    },
    head: (key) => headObject(s3, key),
    list: (prefix, options) => listObjects(s3, prefix, options),
    listFolders: (prefix) => listFolders(s3, prefix),
    copy: (from, to, bytes) => copyObject(s3, from, to, { bytes }),
    remove: (keys) => removeObjects(s3, keys),
    abortUploads: (prefix, isAbandoned) => abortUploads(s3, prefix, isAbandoned),
    probeUploads: () => probeUploads(s3),
    serverTime: () => s3.serverTime(),
    close: () => s3.close(),
  };
}
