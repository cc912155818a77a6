import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32ToBase64, crc32ToHex } from '../crc32.js';
import { StoreError, StoreUnclearError } from '../errors.js';
import type { Expected, SwapResult } from '../port.js';
import type { S3Connection } from './connection.js';
import { strongEtag } from './head.js';
import { isMissingObject, readAnswer, type S3Answer, toCause, wordsOf } from './s3-errors.js';
import { sdk } from './sdk.js';

/** Error codes of requests that never reached the store. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Sends one conditional PutObject without retries. Before the caller retries, it must read the object. */
export async function swapObject(
  s3: S3Connection,
  key: ObjectKey,
  body: Uint8Array,
  expected: Expected,
): Promise<SwapResult> {
  // Without an ETag, the SDK would send no condition.
  if (expected !== 'absent' && expected.etag === '')
    throw s3.failure('swap', key, {
      problem: 'the store showed no ETag when the object was read, so a conditional write is not possible',
      remedy: 'Use a store that shows ETags, and a proxy that passes them on.',
    });
  const command = new (sdk().PutObjectCommand)({
    ...s3.target(key),
    Body: body,
    ContentLength: body.length,
    ContentType: 'application/json',
    ChecksumCRC32: crc32ToBase64(crc32ToHex(crc32(body))),
    ...(expected === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: expected.etag }),
  });
  try {
    const answer = await s3.singleAttemptClient.send(command);
    return { outcome: 'written', etag: strongEtag(answer.ETag) };
  } catch (error) {
    const said = readAnswer(error);
    if (isConflict(said, expected)) return { outcome: 'conflict' };
    const failure = s3.error('swap', key, undefined, error);
    if (!(failure instanceof StoreError) || !isUnclear(failure, said)) throw failure;
    throw new StoreUnclearError({
      operation: 'swap',
      key,
      bucket: `s3://${s3.bucket}`,
      problem: `the outcome of the conditional write is unknown (${wordsOf(said)})`,
      cause: toCause(error),
    });
  }
}

/** Whether the condition failed: 412, 409 of a concurrent write, or 404 for `If-Match` on a missing object. */
export function isConflict(said: S3Answer, expected: Expected): boolean {
  if (said.status === 412) return true;
  if (said.status === 409)
    return said.name === 'ConditionalRequestConflict' || said.name === 'OperationAborted';
  return expected !== 'absent' && isMissingObject(said);
}

/** Whether the write may have taken effect. Any 5xx counts, even 503: a proxy may send it after the store has written. */
function isUnclear(failure: StoreError, said: S3Answer): boolean {
  if (said.status !== null) return said.status >= 500 && said.status !== 501;
  return failure.kind === 'unreachable' && !(said.code !== null && NOT_SENT.has(said.code));
}
