import type { Readable } from 'node:stream';
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { recoveryOf } from '../../damaged-error.js';
import { sizeLimitOf } from '../../size-limits.js';
import { DocumentTooLargeError } from '../../too-large-error.js';
import { crc32, crc32FromBase64, crc32ToHex } from '../crc32.js';
import { StoreError } from '../errors.js';
import { checkRange } from '../key.js';
import type { ObjectInfo, ReadOptions } from '../port.js';
import type { S3Connection } from './connection.js';
import { isMissingObject, readAnswer } from './s3-answer.js';
import { sdk } from './sdk.js';

/** Reads an object's metadata with its checksum; null if the object does not exist. */
export async function headObject(
  s3: S3Connection,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<ObjectInfo | null> {
  const target = s3.target(key);
  const answer = await s3.run('head', key, signal, async () => {
    try {
      return await s3.client.send(
        new (sdk().HeadObjectCommand)({ ...target, ChecksumMode: 'ENABLED' }),
        sendOptions(signal),
      );
    } catch (error) {
      const said = readAnswer(error);
      if (isMissingObject(said)) return null;
      // An error response to HEAD has no body and so no error code. A GET of one byte returns the code.
      if (said.status === 403 || said.status === 400)
        await s3.client.send(new (sdk().GetObjectCommand)({ ...target, Range: 'bytes=0-0' }));
      throw error;
    }
  });
  if (answer === null) {
    await s3.checkBucket('head');
    return null;
  }
  return {
    key,
    bytes: answer.ContentLength ?? 0,
    etag: strongEtag(answer.ETag),
    crc32: fullCrc32(answer.ChecksumCRC32, answer.ChecksumType),
    modifiedAt: answer.LastModified?.getTime() ?? 0,
  };
}

/**
 * The ETag to compare and to send in a condition. A proxy that may change the encoding of a response marks the store's ETag as weak
 * (`W/"…"`), and no store accepts that in `If-Match` (RFC 9110, section 13.1.1).
 */
export function strongEtag(etag: string | undefined): string {
  return (etag ?? '').replace(/^W\//, '');
}

/** The CRC32 of the whole object in hex; null if there is none, or only a composite of the parts' checksums. */
export function fullCrc32(base64: string | undefined, type: string | undefined): string | null {
  return base64 === undefined || type === 'COMPOSITE' ? null : crc32FromBase64(base64);
}

/** SDK options for an abort signal. */
export function sendOptions(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

/** The read fails after this many consecutive broken connections without any byte. */
const MAX_IDLE_BREAKS = 4;

/**
 * Streams an object or a range of it. The SDK retries requests, but not bodies. If a body ends early, the rest of the same
 * version (`If-Match`) is requested. The CRC32 of a whole object is checked at the end. `onEtag` receives the ETag
 * before the first chunk. `isHeld`: the caller holds all of it in memory, so that its size has a limit.
 */
export async function* streamObject(
  s3: S3Connection,
  key: ObjectKey,
  options: ReadOptions & { operation?: string; isHeld?: boolean; onEtag?: (etag: string) => void } = {},
): AsyncGenerator<Buffer, void, undefined> {
  const { range, signal, operation = 'read', isHeld = false } = options;
  if (range !== undefined) checkRange(range);
  const target = s3.target(key);
  const limit = sizeLimitOf(key);
  const maxBytes = isHeld ? limit.maxBytes : Number.POSITIVE_INFINITY;
  const end = range === undefined ? null : range.offset + range.length - 1;
  const start = range?.offset ?? 0;
  let position = start;
  let etag: string | undefined;
  /** Expected number of bytes; `null` if the store does not report it, as with a chunked response. */
  let total: number | null | undefined;
  let expectedCrc: string | null = null;
  let crc = 0;
  let idleBreaks = 0;
  let isComplete = false;
  /** Requests the number of bytes to return; `null` if the store does not report it. */
  const askLength = async (): Promise<number | null> => {
    const { ContentLength: bytes } = await s3.client.send(
      new (sdk().HeadObjectCommand)({ ...target, ...(etag ? { IfMatch: etag } : {}) }),
      sendOptions(signal),
    );
    return bytes === undefined ? null : lengthWithin(bytes, start, end);
  };
  while (!isComplete) {
    try {
      signal?.throwIfAborted();
      const wanted = position === 0 && end === null ? {} : { Range: `bytes=${position}-${end ?? ''}` };
      const condition = etag === undefined ? {} : { IfMatch: etag };
      const answer = await s3.client.send(
        new (sdk().GetObjectCommand)({ ...target, ...wanted, ...condition }),
        sendOptions(signal),
      );
      if (etag === undefined) {
        etag = strongEtag(answer.ETag);
        total = lengthOf(answer, start, end);
        if (range === undefined) expectedCrc = fullCrc32(answer.ChecksumCRC32, answer.ChecksumType);
        options.onEtag?.(etag);
        if (total !== null && total > maxBytes) {
          (answer.Body as Readable).destroy();
          throw new DocumentTooLargeError('read', { key, ...limit, bytes: total });
        }
      }
      for await (const chunk of bodyOf(answer, position, end)) {
        crc = expectedCrc === null ? crc : crc32(chunk, crc);
        position += chunk.length;
        // A response need not say its length.
        if (position - start > maxBytes)
          throw new DocumentTooLargeError('read', { key, ...limit, bytes: null });
        idleBreaks = 0;
        yield chunk;
      }
      // A body that ends early without an error counts as a break. If the response has no length, a proxy may have cut it,
      // so the length of the object decides.
      total ??= await askLength();
      isComplete = total === null || position - start >= total;
      if (!isComplete)
        idleBreaks = countBreak(
          idleBreaks,
          s3.failure(operation, key, {
            kind: 'unreachable',
            problem: 'the response ended before the end of the object',
            remedy: 'Check the network and any proxy in front of the store.',
          }),
        );
    } catch (error) {
      if (error instanceof DocumentTooLargeError) throw error;
      const said = readAnswer(error);
      // The position is at the end of the object: the resumed read was already complete.
      if (said.status === 416 && position > start) break;
      if (said.status === 416) return;
      if (said.status === 412)
        throw s3.failure(operation, key, {
          problem: 'the object was replaced while it was being read',
          remedy: 'Read it again, and find out which other process writes to this lake.',
        });
      const failure = s3.error(operation, key, signal, error);
      if (failure instanceof StoreError && failure.kind === 'checksum')
        throw await confirmDamage(s3, { key, operation, signal }, failure);
      const resumable = failure instanceof StoreError && failure.kind === 'unreachable' && etag !== undefined;
      if (!resumable) throw failure;
      isComplete = typeof total === 'number' && position - start >= total;
      if (!isComplete) idleBreaks = countBreak(idleBreaks, failure);
    }
  }
  if (expectedCrc !== null && crc32ToHex(crc) !== expectedCrc) {
    const failure = s3.error(operation, key, signal, new Error('Checksum mismatch of the whole object'));
    throw await confirmDamage(s3, { key, operation, signal }, failure);
  }
}

function countBreak(breaks: number, error: unknown): number {
  if (breaks + 1 >= MAX_IDLE_BREAKS) throw error;
  return breaks + 1;
}

/** Whether the response is the whole object although a range was requested: the store or a proxy ignores `Range`. */
function isWhole({ ContentRange, $metadata }: GetObjectCommandOutput): boolean {
  return ContentRange === undefined && $metadata.httpStatusCode === 200;
}

/** The requested bytes of a response. @param end last byte; `null`: the last one of the object */
async function* bodyOf(
  answer: GetObjectCommandOutput,
  begin: number,
  end: number | null,
): AsyncGenerator<Buffer, void, undefined> {
  const body = answer.Body as AsyncIterable<Buffer>;
  if (!isWhole(answer) || (begin === 0 && end === null)) return yield* body;
  let at = 0;
  for await (const chunk of body) {
    const wanted = chunk.subarray(
      Math.max(0, begin - at),
      end === null ? chunk.length : Math.max(0, end + 1 - at),
    );
    at += chunk.length;
    if (wanted.length > 0) yield wanted;
    if (end !== null && at > end) return;
  }
}

/** Length of the requested bytes from the response headers; `null` if they do not contain it. */
function lengthOf(answer: GetObjectCommandOutput, start: number, end: number | null): number | null {
  const { ContentLength, ContentRange } = answer;
  if (ContentLength !== undefined)
    return isWhole(answer) ? lengthWithin(ContentLength, start, end) : ContentLength;
  const range = /^bytes (\d+)-(\d+)\//.exec(ContentRange ?? '');
  return range === null ? null : Number(range[2]) - Number(range[1]) + 1;
}

/** Length of a range of an object of `bytes` bytes. @param end last byte; `null`: the last one of the object */
function lengthWithin(bytes: number, start: number, end: number | null): number {
  return Math.max(0, Math.min(bytes, (end ?? bytes) + 1) - start);
}

/**
 * Reads an object twice more after a checksum error. The same wrong checksum both times means that the object is damaged
 * in the store, and a retry would not help. Otherwise the bytes were damaged in transit.
 */
async function confirmDamage(
  s3: S3Connection,
  { key, operation, signal }: { key: ObjectKey; operation: string; signal: AbortSignal | undefined },
  failure: unknown,
): Promise<unknown> {
  const first = await checksumInStore(s3, key, signal).catch(() => null);
  if (first === null || first.found === first.expected) return failure;
  const second = await checksumInStore(s3, key, signal).catch(() => null);
  if (second === null || second.found !== first.found) return failure;
  return s3.failure(operation, key, {
    kind: 'damaged',
    problem: `the object is damaged in the store: every read gives CRC32 ${first.found} instead of ${first.expected}`,
    remedy: recoveryOf(key),
    cause: failure,
  });
}

/** The CRC32 of the bytes that the store returns, and the one it recorded; `null` if it has none or the read ends early. */
async function checksumInStore(
  s3: S3Connection,
  key: ObjectKey,
  signal: AbortSignal | undefined,
): Promise<{ found: string; expected: string } | null> {
  const head = await headObject(s3, key, signal);
  if (head === null || head.crc32 === null) return null;
  let crc = 0;
  let bytes = 0;
  const command = new (sdk().GetObjectCommand)({ ...s3.target(key), IfMatch: head.etag });
  const answer = await s3.client.send(command, sendOptions(signal));
  for await (const chunk of answer.Body as AsyncIterable<Buffer>) {
    crc = crc32(chunk, crc);
    bytes += chunk.length;
  }
  return bytes === head.bytes ? { found: crc32ToHex(crc), expected: head.crc32 } : null;
}
