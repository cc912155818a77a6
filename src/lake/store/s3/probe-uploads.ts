import { randomBytes } from 'node:crypto';
import { toObjectKey } from '../key.js';
import { PROBES } from '../probe.js';
import type { S3Connection } from './connection.js';
import { learnUploadChecksums, mayBeChecksums, uploadProbe } from './learn-uploads.js';
import { MultipartUpload } from './multipart.js';
import { abortUploads } from './remove.js';

/**
 * Tests what objects over 8 MiB need: an upload of two parts, and the listing and end of an unfinished one. Nothing is left.
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
  const upload = await MultipartUpload.create(s3, key, 'write', { contentType: 'text/csv' });
  // Ends it if the store does not list it.
  if ((await abortUploads(s3, folder)).aborted === 0) await upload.abort();
}
