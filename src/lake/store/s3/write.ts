import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32Combine, crc32ToBase64, crc32ToHex } from '../crc32.js';
import { digestOf } from '../digest.js';
import { StoreError, StoreUnclearError } from '../errors.js';
import { GuardedWriter } from '../guarded-writer.js';
import { contentTypeOf } from '../key.js';
import type { Expected, SwapResult, WriteOptions, WrittenObject } from '../port.js';
import { noteDigest } from './body-digest.js';
import type { S3Connection } from './connection.js';
import { MAX_PARTS, type MultipartUpload, PART_BYTES } from './multipart.js';
import { fullCrc32, sendOptions, strongEtag } from './read.js';
import { isMissingObject, readAnswer, type S3Answer, toCause, wordsOf } from './s3-answer.js';
import { sdk } from './sdk.js';
import { startUpload } from './start-upload.js';
import { giveBack, takeBuffer } from './upload-buffers.js';

/**
 * Writes a body in memory with one PutObject. The SDK retries transient errors, and the store verifies the CRC32. A list
 * of pieces is joined first, because only a buffer can be sent again.
 */
export async function putObject(
  s3: S3Connection,
  key: ObjectKey,
  body: Uint8Array | readonly Uint8Array[],
  { signal }: WriteOptions,
): Promise<WrittenObject> {
  const bytes = body instanceof Uint8Array ? body : Buffer.concat(body);
  return (await sendObject(s3, key, bytes, digestOf(key, bytes), signal)).written;
}

/** @returns `isFree`: whether the body can be used again, as for a part of an upload */
async function sendObject(
  s3: S3Connection,
  key: ObjectKey,
  bytes: Uint8Array,
  written: WrittenObject,
  signal: AbortSignal | undefined,
): Promise<{ readonly written: WrittenObject; readonly isFree: boolean }> {
  const command = new (sdk().PutObjectCommand)({
    ...s3.target(key),
    Body: bytes,
    ContentLength: bytes.length,
    ContentType: contentTypeOf(key),
    ChecksumCRC32: crc32ToBase64(written.crc32),
  });
  noteDigest(bytes, written.sha256);
  const answer = await s3.run('write', key, signal, () => s3.client.send(command, sendOptions(signal)));
  const isConfirmed = fullCrc32(answer.ChecksumCRC32, answer.ChecksumType) === written.crc32;
  return {
    written: isConfirmed ? { ...written, confirmed: true } : written,
    isFree: answer.$metadata.attempts === 1,
  };
}

/**
 * Streams a body into one object. One buffer fills while the other is uploaded. A body that fits into the first buffer is
 * sent as one PutObject.
 */
export class S3Writer extends GuardedWriter {
  readonly #s3: S3Connection;
  #buffer: Buffer | null = null;
  #filled = 0;
  /** Of what is in the buffer. */
  #bufferCrc = 0;
  #partNumber = 0;
  #upload: MultipartUpload | null = null;
  #inFlight: Promise<unknown> | null = null;

  constructor(s3: S3Connection, key: ObjectKey, options?: WriteOptions) {
    super(key, options);
    s3.keyOf(key);
    this.#s3 = s3;
  }

  protected async append(chunk: Uint8Array, crc: number): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      // A full buffer is sent only when more bytes arrive, so that a body of exactly one part is still one PutObject.
      if (this.#filled === PART_BYTES) await this.#sendPart();
      const piece = chunk.subarray(offset, offset + PART_BYTES - this.#filled);
      this.#bufferFor(this.#filled + piece.length).set(piece, this.#filled);
      this.#filled += piece.length;
      this.#bufferCrc =
        piece.length === chunk.length
          ? crc32Combine(this.#bufferCrc, crc, piece.length)
          : crc32(piece, this.#bufferCrc);
      offset += piece.length;
    }
  }

  #bufferFor(bytes: number): Buffer {
    this.#buffer ??= takeBuffer(this.#upload === null ? 'object' : 'part');
    if (bytes > this.#buffer.length) {
      const larger = takeBuffer('part');
      this.#buffer.copy(larger, 0, 0, this.#filled);
      giveBack(this.#buffer);
      this.#buffer = larger;
    }
    return this.#buffer;
  }

  async #sendPart(): Promise<void> {
    const body = this.#buffer as Buffer;
    const part = body.subarray(0, this.#filled);
    // Without the signal: an aborted request could leave an upload whose id is unknown.
    const upload = this.#upload ?? (await startUpload(this.#s3, this.key, 'write'));
    this.#upload = upload;
    await this.#settled();
    this.signal.throwIfAborted();
    if (this.#partNumber === MAX_PARTS)
      throw this.#s3.failure('write', this.key, {
        problem: `the object would be larger than ${MAX_PARTS} parts of ${PART_BYTES} bytes`,
        remedy: 'Set a smaller csv.partBytes, so that rows are split into more objects.',
      });
    this.#partNumber += 1;
    const sending = upload.upload(this.#partNumber, part, this.#bufferCrc, this.signal).then((isFree) => {
      if (isFree) giveBack(body);
    });
    sending.catch(() => {});
    this.#inFlight = sending;
    this.#buffer = null;
    this.#filled = 0;
    this.#bufferCrc = 0;
  }

  /** Waits for the part in flight and throws its error. */
  async #settled(): Promise<void> {
    await this.#inFlight;
    this.#inFlight = null;
  }

  protected async complete(written: WrittenObject): Promise<WrittenObject> {
    const { signal } = this;
    if (this.#upload === null) {
      const buffer = this.#buffer;
      this.#buffer = null;
      const body = buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0);
      const sent = await sendObject(this.#s3, this.key, body, written, signal);
      if (buffer !== null && sent.isFree) giveBack(buffer);
      return sent.written;
    }
    await this.#sendPart();
    await this.#settled();
    await this.#upload.complete(written, signal);
    return written;
  }

  protected async discard(): Promise<void> {
    this.#buffer = null;
    // A part that arrives after the abort could stay in the store, so wait for it first.
    await this.#inFlight?.catch(() => {});
    await this.#upload?.abort();
  }
}

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
    ContentType: contentTypeOf(key),
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
