import type { ObjectKey } from '../../../core/brands.js';
import { ObjectNotFoundError, StoreError } from '../errors.js';
import type { ObjectInfo } from '../port.js';
import type { S3Connection } from './connection.js';
import { headObject, streamObject } from './read.js';
import { isRefusal } from './s3-errors.js';
import { sdk } from './sdk.js';
import { startUpload } from './start-upload.js';
import { S3Writer } from './write.js';

/** S3's limit for one CopyObject. */
const MAX_COPY_BYTES = 5 * 1024 ** 3;
const COPY_PART_BYTES = 1024 ** 3;

interface CopyOptions {
  /** Size of the object, if the caller knows it and checks the copy. */
  readonly bytes?: number | undefined;
  readonly maxCopyBytes?: number;
  readonly partBytes?: number;
}

/** Copies an object inside the store. Objects over 5 GiB are copied in parts, all of one version. */
export async function copyObject(
  s3: S3Connection,
  from: ObjectKey,
  to: ObjectKey,
  { bytes, maxCopyBytes = MAX_COPY_BYTES, partBytes = COPY_PART_BYTES }: CopyOptions = {},
): Promise<void> {
  if (!s3.features.copies) return copyThroughHere(s3, from, to);
  if (bytes !== undefined && bytes <= maxCopyBytes) return copySmall(s3, from, to);
  const source = await headObject(s3, from);
  if (source === null)
    throw new ObjectNotFoundError({ operation: 'copy', key: from, bucket: `s3://${s3.bucket}` });
  if (source.bytes > maxCopyBytes) return copyLarge(s3, source, to, partBytes);
  return copySmall(s3, from, to, source.etag);
}

/** @param etag version that must be copied; absent: any */
async function copySmall(s3: S3Connection, from: ObjectKey, to: ObjectKey, etag?: string): Promise<void> {
  const command = new (sdk().CopyObjectCommand)({
    ...s3.target(to),
    CopySource: copySource(s3, from),
    ...(etag === undefined ? {} : { CopySourceIfMatch: etag }),
    ChecksumAlgorithm: 'CRC32',
  });
  try {
    await s3.run('copy', from, undefined, () => s3.client.send(command));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await copyThroughHere(s3, from, to);
    // Reading and writing are allowed, so only the copy is refused. A policy may allow it elsewhere.
    if (error.kind !== 'access-denied') s3.features.copies = false;
    s3.missing('The store does not copy objects. Unchanged parts are copied through this process', error);
  }
}

/**
 * versitygw 1.8.0 reports the CRC32 of the whole source for each copied part, so the copy gets a wrong checksum. The
 * completion therefore requires the source's CRC32. If the store cannot confirm it, or it is unknown, the bytes are
 * copied through this process.
 */
async function copyLarge(
  s3: S3Connection,
  source: ObjectInfo,
  to: ObjectKey,
  partBytes: number,
): Promise<void> {
  const { crc32 } = source;
  if (crc32 !== null && s3.features.uploadChecksums === 'whole') {
    try {
      return await copyByParts(s3, { ...source, crc32 }, to, partBytes);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'checksum') throw error;
      s3.logger.warn(
        'The store does not confirm the checksum of a multipart copy. The object is copied through this process',
        { from: source.key, to },
      );
    }
  }
  await copyThroughHere(s3, source.key, to);
}

async function copyThroughHere(s3: S3Connection, from: ObjectKey, to: ObjectKey): Promise<void> {
  const writer = new S3Writer(s3, to);
  try {
    for await (const chunk of streamObject(s3, from, { operation: 'copy' })) await writer.write(chunk);
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

async function copyByParts(
  s3: S3Connection,
  source: ObjectInfo & { readonly crc32: string },
  to: ObjectKey,
  partBytes: number,
): Promise<void> {
  const upload = await startUpload(s3, to, 'copy');
  try {
    for (let offset = 0, partNumber = 1; offset < source.bytes; offset += partBytes, partNumber++) {
      const last = Math.min(offset + partBytes, source.bytes) - 1;
      const command = new (sdk().UploadPartCopyCommand)({
        ...upload.target,
        PartNumber: partNumber,
        CopySource: copySource(s3, source.key),
        CopySourceIfMatch: source.etag,
        CopySourceRange: `bytes=${offset}-${last}`,
      });
      const answer = await s3.run('copy', source.key, undefined, () => s3.client.send(command));
      const part = answer.CopyPartResult;
      upload.addPart({ PartNumber: partNumber, ETag: part?.ETag, ChecksumCRC32: part?.ChecksumCRC32 });
    }
    await upload.complete(source);
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

/** Value of `x-amz-copy-source`: percent-encoded, except slashes. */
function copySource(s3: S3Connection, key: ObjectKey): string {
  return `${s3.bucket}/${s3.keyOf(key).split('/').map(encodeURIComponent).join('/')}`;
}
