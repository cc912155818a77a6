import { randomBytes } from 'node:crypto';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32 } from '../crc32.js';
import { RunningDigest } from '../digest.js';
import type { StoreError } from '../errors.js';
import { toObjectKey } from '../key.js';
import { PROBES } from '../probe-conditions.js';
import type { S3Connection } from './connection.js';
import { MultipartUpload, mayBeChecksums, PART_BYTES } from './multipart.js';
import { headObject } from './read.js';
import { abortUploads, removeObjects } from './remove.js';
import type { UploadChecksums } from './s3-client.js';
import { isRefusal } from './s3-errors.js';

/** From the safest to the one that every store accepts. */
const KINDS: readonly UploadChecksums[] = ['whole', 'parts', 'none'];

const INSTEAD: Readonly<Record<UploadChecksums, string>> = {
  whole: '',
  parts:
    'The store accepts no checksum of a whole object for uploads over 5 MiB. It checks each part instead',
  none: 'The store accepts no checksums for uploads over 5 MiB. Each such object is read again after its upload',
};

/** Starts an upload with the checksums that the store is known to accept, or finds out which ones it accepts. */
export function startUpload(s3: S3Connection, key: ObjectKey, operation: string): Promise<MultipartUpload> {
  return MultipartUpload.create(s3, key, operation, {
    checksums: s3.features.uploadChecksums,
    learn: (refusal) => learnUploadChecksums(s3, refusal),
  });
}

/**
 * Finds the checksums that the store accepts for large uploads, with an object of two parts under `_staging/`, which it removes.
 * Concurrent calls share one search.
 *
 * @param refusal why it is searched; logged as the reason if the store accepts less than a checksum of the whole object
 * @throws StoreError if it accepts no upload at all, with the words of the first refusal
 */
function learnUploadChecksums(s3: S3Connection, refusal: unknown): Promise<UploadChecksums> {
  const { features } = s3;
  features.learning ??= search(s3).then(
    (accepted) => {
      features.uploadChecksums = accepted;
      if (accepted !== 'whole') s3.missing(INSTEAD[accepted], refusal);
      return accepted;
    },
    (error: unknown) => {
      // Another call may succeed, for example once a policy has been changed.
      features.learning = null;
      throw error;
    },
  );
  return features.learning;
}

async function search(s3: S3Connection): Promise<UploadChecksums> {
  const failures: StoreError[] = [];
  for (const checksums of KINDS) {
    try {
      await uploadProbe(s3, checksums);
      return checksums;
    } catch (error) {
      if (!mayBeChecksums(error)) throw error;
      failures.push(error);
    }
  }
  // An answer such as 500 to the last request is no word about its checksums, which it does not have.
  throw failures.find((failure) => !isRefusal(failure)) ?? failures[0];
}

/** Uploads an object of two parts, as a run uploads an object over 5 MiB, and removes it. */
async function uploadProbe(s3: S3Connection, checksums: UploadChecksums): Promise<void> {
  const key = toObjectKey(`${PROBES}${randomBytes(8).toString('hex')}`);
  const parts = [Buffer.alloc(PART_BYTES), Buffer.from('\n')];
  const bytes = PART_BYTES + 1;
  const upload = await MultipartUpload.create(s3, key, 'write', { checksums, learn: null });
  try {
    const digest = new RunningDigest();
    for (const [at, part] of parts.entries()) {
      digest.update(part);
      await upload.upload(at + 1, part, crc32(part), new AbortController().signal);
    }
    await upload.complete(digest.finish(key));
    const found = await headObject(s3, key);
    if (found?.bytes !== bytes)
      throw s3.failure('write', key, {
        problem: `an upload in parts gave ${found === null ? 'no object' : `an object of ${found.bytes} bytes`} instead of ${bytes}`,
        remedy: 'Use a store, or a proxy, that supports multipart uploads.',
      });
  } catch (error) {
    await upload.abort();
    throw error;
  } finally {
    await removeObjects(s3, [key]).catch(() => {});
  }
}

/**
 * Tests what objects over 5 MiB need: an upload of two parts, and the listing and end of an unfinished one. Nothing is left.
 *
 * @throws StoreError if the store accepts no upload in parts
 */
export async function probeUploads(s3: S3Connection): Promise<void> {
  try {
    await uploadProbe(s3, s3.features.uploadChecksums);
  } catch (error) {
    if (!mayBeChecksums(error)) throw error;
    await learnUploadChecksums(s3, error);
  }
  const folder = `${PROBES}${randomBytes(8).toString('hex')}/`;
  const key = toObjectKey(`${folder}part-00000.csv`);
  const upload = await startUpload(s3, key, 'write');
  // Ends it if the store does not list it.
  if ((await abortUploads(s3, folder)).aborted === 0) await upload.abort();
}
