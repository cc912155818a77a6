import type { ListMultipartUploadsCommand, ListMultipartUploadsCommandInput } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { inParallel } from '../../../core/in-parallel.js';
import { ALL_REMOVED, addRemovals, type Removal } from '../../../core/removal.js';
import { ObjectNotFoundError } from '../errors.js';
import { checkFolder } from '../key.js';
import type { AbortedUploads } from '../port.js';
import type { S3Connection } from './connection.js';
import { isMissingObject, readAnswer } from './s3-answer.js';
import { isRefusal } from './s3-errors.js';
import { sdk } from './sdk.js';

/** S3's limit for one DeleteObjects. */
const BATCH = 1000;
/** Requests for one object each, at the same time. */
const WIDTH = 16;

/** Codes of errors of one object that another attempt may not meet. S3 reports no status for it. */
const STATUS: Readonly<Record<string, number>> = {
  InternalError: 500,
  ServiceUnavailable: 503,
  SlowDown: 503,
  RequestTimeout: 500,
};

/**
 * Removes objects in batches. Missing objects are not an error. Objects that the store refuses to remove are counted: a policy,
 * a lock or a retention protects them. Other failures are thrown.
 */
export async function removeObjects(s3: S3Connection, keys: readonly ObjectKey[]): Promise<Removal> {
  // All keys are checked before the first object is removed.
  for (const key of keys) s3.keyOf(key);
  let sum = ALL_REMOVED;
  for (let start = 0; start < keys.length; start += BATCH) {
    const batch = keys.slice(start, start + BATCH);
    sum = addRemovals(
      sum,
      await (s3.features.removesBatches ? removeBatch(s3, batch) : removeEach(s3, batch)),
    );
  }
  return sum;
}

async function removeBatch(s3: S3Connection, keys: readonly ObjectKey[]): Promise<Removal> {
  const Objects = keys.map((key) => ({ Key: s3.keyOf(key) }));
  const command = new (sdk().DeleteObjectsCommand)({ Bucket: s3.bucket, Delete: { Quiet: true, Objects } });
  const send = () => s3.client.send(command);
  let answer: Awaited<ReturnType<typeof send>>;
  try {
    answer = await s3.run('remove', keys[0]!, undefined, send);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Some stores and proxies accept only requests for one object. If the first is refused as well, so are the others.
    const first = await removeOne(s3, keys[0]!);
    if (first.refused > 0) return { ...first, refused: keys.length };
    s3.features.removesBatches = false;
    s3.missing(
      'The store does not remove several objects with one request. Each is removed by its own',
      error,
    );
    return removeEach(s3, keys.slice(1));
  }
  let refused = ALL_REMOVED;
  for (const { Code = 'Error', Message, Key } of answer.Errors ?? []) {
    if (Code === 'NoSuchKey') continue;
    const $metadata = { httpStatusCode: STATUS[Code] ?? 403 };
    const error = { name: Code, message: Message ?? Code, $metadata };
    const failure = s3.error('remove', s3.relative(Key ?? ''), undefined, error);
    if (!isRefusal(failure)) throw failure;
    refused = addRemovals(refused, { refused: 1, said: failure.said });
  }
  return refused;
}

async function removeEach(s3: S3Connection, keys: readonly ObjectKey[]): Promise<Removal> {
  return addRemovals(...(await inParallel(keys, WIDTH, (key) => removeOne(s3, key))));
}

async function removeOne(s3: S3Connection, key: ObjectKey): Promise<Removal> {
  const command = new (sdk().DeleteObjectCommand)(s3.target(key));
  try {
    await s3.run('remove', key, undefined, async () => {
      try {
        await s3.client.send(command);
      } catch (error) {
        if (!isMissingObject(readAnswer(error))) throw error;
      }
    });
    return ALL_REMOVED;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { refused: 1, said: error.said };
  }
}

/**
 * Aborts multipart uploads below a folder that `isAbandoned` accepts. A store that refuses it keeps them, which a warning says: they
 * are no objects, so no reader sees them.
 */
export async function abortUploads(
  s3: S3Connection,
  prefix: string,
  isAbandoned: (key: ObjectKey, startedAt: number) => boolean | Promise<boolean> = () => true,
): Promise<AbortedUploads> {
  checkFolder(prefix);
  let aborted = 0;
  try {
    for await (const upload of unfinishedUploads(s3, prefix)) {
      const key = s3.relative(upload.key);
      if (key !== null && !(await isAbandoned(key, upload.startedAt))) continue;
      const target = { Bucket: s3.bucket, Key: upload.key, UploadId: upload.id };
      aborted += await s3.run('abortUploads', prefix, undefined, async () => {
        try {
          await s3.client.send(new (sdk().AbortMultipartUploadCommand)(target));
          return 1;
        } catch (error) {
          // The writer completed or aborted the upload meanwhile.
          if (readAnswer(error).name !== 'NoSuchUpload') throw error;
          return 0;
        }
      });
    }
  } catch (error) {
    // Some stores do not know the request, and answer that there is no such object.
    if (!isRefusal(error) && !(error instanceof ObjectNotFoundError)) throw error;
    s3.missing(UPLOADS_STAY, error);
    return { aborted, refused: error.said };
  }
  return { aborted, refused: null };
}

const UPLOADS_STAY =
  'The store refuses to list or to end unfinished uploads, so those of killed workers stay. Allow ' +
  's3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or add a lifecycle rule that aborts them';

type Marker = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

async function* unfinishedUploads(
  s3: S3Connection,
  prefix: string,
): AsyncGenerator<{ key: string; id: string; startedAt: number }> {
  const full = s3.prefixOf(prefix);
  let marker: Marker | null = {};
  while (marker !== null) {
    const position = { Bucket: s3.bucket, Prefix: full, ...marker };
    const command: ListMultipartUploadsCommand = new (sdk().ListMultipartUploadsCommand)(position);
    const page = await s3.run('abortUploads', prefix, undefined, () => s3.client.send(command));
    for (const upload of page.Uploads ?? []) {
      if (upload.Key === undefined || upload.UploadId === undefined) continue;
      // A store that ignores the prefix lists the uploads of others too.
      const startedAt = upload.Initiated?.getTime() ?? 0;
      if (upload.Key.startsWith(full)) yield { key: upload.Key, id: upload.UploadId, startedAt };
    }
    const next: Marker = {
      ...(page.NextKeyMarker ? { KeyMarker: page.NextKeyMarker } : {}),
      ...(page.NextUploadIdMarker ? { UploadIdMarker: page.NextUploadIdMarker } : {}),
    };
    // Without a new marker, the store would show the same page again.
    const isNew: boolean = JSON.stringify(next) !== JSON.stringify(marker);
    marker = page.IsTruncated && next.KeyMarker !== undefined && isNew ? next : null;
  }
}
