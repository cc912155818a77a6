import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32Combine, crc32ToBase64 } from '../crc32.js';
import { digestOf } from '../digest.js';
import { GuardedWriter } from '../guarded-writer.js';
import { contentTypeOf } from '../key.js';
import type { WriteOptions, WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { fullCrc32, sendOptions } from './head.js';
import { giveBack, MAX_PARTS, type MultipartUpload, PART_BYTES, takeBuffer } from './multipart.js';
import { sdk } from './sdk.js';
import { startUpload } from './start-upload.js';

/**
 * Writes a body in memory with one PutObject. The SDK retries transient errors, and the store verifies the CRC32. A list
 * of pieces is joined first, because only a buffer can be sent again.
 *
 * @param known the checksums, if they were computed while the body grew
 */
export async function putObject(
  s3: S3Connection,
  key: ObjectKey,
  body: Uint8Array | readonly Uint8Array[],
  { signal }: WriteOptions,
  known?: WrittenObject,
): Promise<WrittenObject> {
  const bytes = body instanceof Uint8Array ? body : Buffer.concat(body);
  const written = known ?? digestOf(key, bytes);
  const command = new (sdk().PutObjectCommand)({
    ...s3.target(key),
    Body: bytes,
    ContentLength: bytes.length,
    ContentType: contentTypeOf(key),
    ChecksumCRC32: crc32ToBase64(written.crc32),
  });
  const answer = await s3.run('write', key, signal, () => s3.client.send(command, sendOptions(signal)));
  const isConfirmed = fullCrc32(answer.ChecksumCRC32, answer.ChecksumType) === written.crc32;
  return isConfirmed ? { ...written, confirmed: true } : written;
}

/** Initial buffer size. Most objects are smaller than a part, and unused memory also triggers garbage collection. */
const FIRST_BYTES = 1024 * 1024;

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

  protected async append(chunk: Uint8Array, crc: number | undefined): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      // A full buffer is sent only when more bytes arrive, so that a body of exactly one part is still one PutObject.
      if (this.#filled === PART_BYTES) await this.#sendPart();
      const piece = chunk.subarray(offset, offset + PART_BYTES - this.#filled);
      this.#bufferFor(this.#filled + piece.length).set(piece, this.#filled);
      this.#filled += piece.length;
      this.#bufferCrc =
        crc !== undefined && piece.length === chunk.length
          ? crc32Combine(this.#bufferCrc, crc, piece.length)
          : crc32(piece, this.#bufferCrc);
      offset += piece.length;
    }
  }

  #bufferFor(bytes: number): Buffer {
    this.#buffer ??= this.#upload === null ? Buffer.allocUnsafeSlow(FIRST_BYTES) : takeBuffer();
    if (bytes > this.#buffer.length) {
      const larger = takeBuffer();
      this.#buffer.copy(larger, 0, 0, this.#filled);
      this.#buffer = larger;
    }
    return this.#buffer;
  }

  async #sendPart(): Promise<void> {
    const body = this.#buffer as Buffer;
    const part = body.subarray(0, this.#filled);
    const upload = this.#upload ?? (await this.#createUpload());
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

  /** Does not use the signal: an aborted request could leave an upload whose id is unknown. */
  async #createUpload(): Promise<MultipartUpload> {
    this.#upload = await startUpload(this.#s3, this.key, 'write');
    return this.#upload;
  }

  /** Waits for the part in flight and throws its error. */
  async #settled(): Promise<void> {
    await this.#inFlight;
    this.#inFlight = null;
  }

  protected async complete(written: WrittenObject): Promise<WrittenObject> {
    const { signal } = this;
    if (this.#upload === null) {
      const body = this.#buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0);
      this.#buffer = null;
      return putObject(this.#s3, this.key, body, { signal }, written);
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
