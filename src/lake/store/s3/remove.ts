import type { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { checkFolder } from '../key.js';
import { readAnswer } from './answer.js';
import type { S3Connection } from './connection.js';
import { sdk } from './sdk.js';

/** S3's limit for one DeleteObjects. */
const BATCH = 1000;

/** Removes objects in batches. Missing objects are not an error. Throws for the first object that cannot be removed. */
export async function removeObjects(s3: S3Connection, keys: readonly ObjectKey[]): Promise<void> {
  // All keys are checked before the first object is removed.
  const targets = keys.map((key) => ({ Key: s3.keyOf(key) }));
  for (let start = 0; start < targets.length; start += BATCH) {
    const batch = targets.slice(start, start + BATCH);
    const command = new (sdk().DeleteObjectsCommand)({
      Bucket: s3.bucket,
      Delete: { Quiet: true, Objects: batch },
    });
    const answer = await s3.run('remove', keys[start] as string, undefined, () => s3.client.send(command));
    const failed = answer.Errors?.find((error) => error.Code !== 'NoSuchKey');
    if (failed !== undefined) {
      const $metadata = { httpStatusCode: failed.Code === 'AccessDenied' ? 403 : 500 };
      const error = Object.assign(new Error(failed.Message), { name: failed.Code ?? 'Error', $metadata });
      throw s3.error('remove', s3.relative(failed.Key ?? ''), undefined, error);
    }
  }
}

/** Aborts multipart uploads below a folder that `isAbandoned` accepts. Returns their number. */
export async function abortUploads(
  s3: S3Connection,
  prefix: string,
  isAbandoned: (key: ObjectKey) => boolean = () => true,
): Promise<number> {
  checkFolder(prefix);
  let aborted = 0;
  for await (const upload of unfinishedUploads(s3, prefix)) {
    const key = s3.relative(upload.key);
    if (key !== null && !isAbandoned(key)) continue;
    const command = new (sdk().AbortMultipartUploadCommand)({
      Bucket: s3.bucket,
      Key: upload.key,
      UploadId: upload.id,
    });
    await s3.run('abortUploads', prefix, undefined, async () => {
      try {
        await s3.client.send(command);
        aborted += 1;
      } catch (error) {
        // The writer completed or aborted the upload meanwhile.
        if (readAnswer(error).name !== 'NoSuchUpload') throw error;
      }
    });
  }
  return aborted;
}

async function* unfinishedUploads(
  s3: S3Connection,
  prefix: string,
): AsyncGenerator<{ key: string; id: string }> {
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | null = {};
  while (marker !== null) {
    const command: ListMultipartUploadsCommand = new (sdk().ListMultipartUploadsCommand)({
      Bucket: s3.bucket,
      Prefix: s3.prefixOf(prefix),
      ...marker,
    });
    const page = await s3.run('abortUploads', prefix, undefined, () => s3.client.send(command));
    for (const upload of page.Uploads ?? []) {
      if (upload.Key === undefined || upload.UploadId === undefined) continue;
      yield { key: upload.Key, id: upload.UploadId };
    }
    marker =
      page.IsTruncated && page.NextKeyMarker
        ? {
            KeyMarker: page.NextKeyMarker,
            ...(page.NextUploadIdMarker ? { UploadIdMarker: page.NextUploadIdMarker } : {}),
          }
        : null;
  }
}
