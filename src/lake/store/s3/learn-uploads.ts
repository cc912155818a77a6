import { randomBytes } from 'node:crypto';
import { crc32, crc32Combine } from '../crc32.js';
import { StoreError } from '../errors/store-error.js';
import { toObjectKey } from '../key.js';
import { PROBES } from '../probe.js';
import { isRefusal, statusOf } from './classify.js';
import type { S3Connection } from './connection.js';
import type { UploadChecksums } from './features.js';
import { headObject } from './head.js';
import { MultipartUpload } from './multipart.js';
import { removeObjects } from './remove.js';
import { PART_BYTES } from './upload-buffers.js';

/** From the safest to the one that every store accepts. */
const KINDS: readonly UploadChecksums[] = ['whole', 'parts', 'none'];

const INSTEAD: Readonly<Record<UploadChecksums, string>> = {
  whole: '',
  parts:
    'The store accepts no checksum of a whole object for uploads over 8 MiB. It checks each part instead',
  none: 'The store accepts no checksums for uploads over 8 MiB. Each such object is read again after its upload',
};

/**
 * Whether a failure of an upload may be about its checksums. Stores answer unknown headers in many ways: also with 500, and with an
 * error in the body of a 200, which the SDK shows as a 503.
 */
export function mayBeChecksums(error: unknown): error is StoreError {
  if (isRefusal(error)) return true;
  if (!(error instanceof StoreError) || statusOf(error) === null) return false;
  const { name } = error.cause as { readonly name?: string };
  if (error.kind === 'throttled')
    return /^(?:Invalid|NotImplemented|Malformed|MissingContent)/.test(name ?? '');
  return error.kind === 'checksum' || (error.kind === 'unreachable' && statusOf(error)! >= 500);
}

/**
 * Finds the checksums that the store accepts for large uploads, with an object of two parts under `_staging/`, which it removes.
 * Concurrent calls share one search.
 *
 * @param refusal why it is searched; logged as the reason if the store accepts less than a checksum of the whole object
 * @throws StoreError if it accepts no upload at all, with the words of the first refusal
 */
export function learnUploadChecksums(s3: S3Connection, refusal: unknown): Promise<UploadChecksums> {
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
  let first: unknown = null;
  for (const checksums of KINDS) {
    try {
      await uploadProbe(s3, checksums);
      return checksums;
    } catch (error) {
      if (!mayBeChecksums(error)) throw error;
      first ??= error;
    }
  }
  throw first;
}

/** Uploads an object of two parts, as a run uploads an object over 8 MiB, and removes it. */
export async function uploadProbe(s3: S3Connection, checksums: UploadChecksums): Promise<void> {
  const key = toObjectKey(`${PROBES}${randomBytes(8).toString('hex')}`);
  const parts = [Buffer.alloc(PART_BYTES), Buffer.from('\n')];
  const bytes = PART_BYTES + 1;
  const upload = await MultipartUpload.create(s3, key, 'write', { contentType: 'text/csv', checksums });
  try {
    let whole = 0;
    for (const [at, part] of parts.entries()) {
      const crc = crc32(part);
      whole = crc32Combine(whole, crc, part.length);
      await upload.upload(at + 1, part, crc, new AbortController().signal);
    }
    await upload.complete({ crc32: whole, bytes });
    const found = await headObject(s3, key);
    if (found?.bytes !== bytes) throw wrongSize(s3, key, found?.bytes ?? null);
  } catch (error) {
    await upload.abort();
    throw error;
  } finally {
    await removeObjects(s3, [key]).catch(() => {});
  }
}

function wrongSize(s3: S3Connection, key: string, bytes: number | null): StoreError {
  return new StoreError({
    kind: 'other',
    operation: 'write',
    key,
    bucket: `s3://${s3.bucket}`,
    problem: `an upload in parts gave ${bytes === null ? 'no object' : `an object of ${bytes} bytes`} instead of ${PART_BYTES + 1}`,
    remedy: 'Use a store, or a proxy, that supports multipart uploads.',
  });
}
