import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32Combine, crc32ToHex } from '../crc32.js';
import { StoreError } from '../errors.js';
import type { ObjectWriter, WriteOptions, WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { giveBack, MAX_PARTS, type MultipartUpload, PART_BYTES, takeBuffer } from './multipart.js';
import { putObject } from './put.js';
import { startUpload } from './start-upload.js';

/** Initial buffer size. Most objects are smaller than a part, and unused memory also triggers garbage collection. */
const FIRST_BYTES = 1024 * 1024;

/**
 * Streams a body into one object. One buffer fills while the other is uploaded. A body that fits into the first buffer is
 * sent as one PutObject. A failure removes the upload before it is thrown, and later calls throw it again.
 */
export class S3Writer implements ObjectWriter {
  readonly #s3: S3Connection;
  readonly #key: ObjectKey;
  readonly #options: WriteOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #sha256 = createHash('sha256');
  #buffer: Buffer | null = null;
  #filled = 0;
  #bytes = 0;
  #crc = 0;
  /** Of what is in the buffer. */
  #bufferCrc = 0;
  #partNumber = 0;
  #upload: MultipartUpload | null = null;
  #inFlight: Promise<unknown> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #done = false;

  constructor(s3: S3Connection, key: ObjectKey, options: WriteOptions = {}) {
    s3.keyOf(key);
    this.#s3 = s3;
    this.#key = key;
    this.#options = options;
    this.#signal =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, options.signal]);
  }

  get bytes(): number {
    return this.#bytes;
  }

  async write(chunk: Uint8Array, known?: number): Promise<void> {
    await this.#guard(async () => {
      this.#sha256.update(chunk);
      for (let offset = 0; offset < chunk.length; ) {
        // A full buffer is sent only when more bytes arrive, so that a body of exactly one part is still one PutObject.
        if (this.#filled === PART_BYTES) await this.#sendPart();
        const piece = chunk.subarray(offset, offset + PART_BYTES - this.#filled);
        this.#bufferFor(this.#filled + piece.length).set(piece, this.#filled);
        this.#filled += piece.length;
        this.#bufferCrc =
          known !== undefined && piece.length === chunk.length
            ? crc32Combine(this.#bufferCrc, known, piece.length)
            : crc32(piece, this.#bufferCrc);
        offset += piece.length;
      }
      this.#bytes += chunk.length;
    });
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

  async finish(): Promise<WrittenObject> {
    return this.#guard(async () => {
      const written = await (this.#upload === null ? this.#put() : this.#complete(this.#upload));
      this.#done = true;
      this.#release();
      return written;
    });
  }

  async abort(): Promise<void> {
    if (this.#done || this.#failure !== null) return;
    await this.#fail(new Error(`The writer of ${this.#key} was aborted`));
  }

  async #sendPart(): Promise<void> {
    const body = this.#buffer as Buffer;
    const length = this.#filled;
    const upload = this.#upload ?? (await this.#createUpload());
    await this.#settled();
    this.#signal.throwIfAborted();
    if (this.#partNumber === MAX_PARTS) throw this.#tooLarge();
    this.#partNumber += 1;
    const part = body.subarray(0, length);
    const crc = this.#bufferCrc;
    this.#bufferCrc = 0;
    this.#crc = crc32Combine(this.#crc, crc, length);
    const sending = upload.upload(this.#partNumber, part, crc, this.#signal).then((isFree) => {
      if (isFree) giveBack(body);
    });
    sending.catch(() => {});
    this.#inFlight = sending;
    this.#buffer = null;
    this.#filled = 0;
  }

  /** Does not use the signal: an aborted request could leave an upload whose id is unknown. */
  async #createUpload(): Promise<MultipartUpload> {
    const creating = startUpload(this.#s3, this.#key, 'write').then((upload) => {
      this.#upload = upload;
      return upload;
    });
    this.#inFlight = creating;
    return creating;
  }

  /** Waits for the part in flight and throws its error. */
  async #settled(): Promise<void> {
    const sending = this.#inFlight;
    if (sending === null) return;
    await sending;
    this.#inFlight = null;
  }

  async #put(): Promise<WrittenObject> {
    const body = this.#buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0);
    const written = {
      ...{ key: this.#key, bytes: this.#bytes, crc32: crc32ToHex(this.#bufferCrc) },
      sha256: this.#sha256.digest('hex'),
    };
    return putObject(this.#s3, this.#key, body, { ...this.#options, signal: this.#signal }, written);
  }

  async #complete(upload: MultipartUpload): Promise<WrittenObject> {
    await this.#sendPart();
    await this.#settled();
    await upload.complete({ crc32: this.#crc, bytes: this.#bytes }, this.#signal);
    return {
      key: this.#key,
      bytes: this.#bytes,
      crc32: crc32ToHex(this.#crc),
      sha256: this.#sha256.digest('hex'),
    };
  }

  /** Rejects calls after the end, and cleans up before an error is thrown. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#done) throw new Error(`The writer of ${this.#key} has finished`);
    if (this.#failure !== null) throw this.#failure.error;
    try {
      this.#signal.throwIfAborted();
      return await work();
    } catch (error) {
      // If another call aborted first, its error is thrown.
      if (this.#failure === null) await this.#fail(error);
      throw (this.#failure as { readonly error: unknown } | null)?.error ?? error;
    }
  }

  async #fail(error: unknown): Promise<void> {
    this.#failure = { error };
    this.#stop.abort(error);
    // A part that arrives after the abort could stay in the store, so wait for it first.
    await this.#inFlight?.catch(() => {});
    await this.#upload?.abort();
    this.#release();
  }

  #release(): void {
    this.#buffer = null;
    this.#inFlight = null;
  }

  #tooLarge(): StoreError {
    return new StoreError({
      kind: 'other',
      operation: 'write',
      key: this.#key,
      bucket: `s3://${this.#s3.bucket}`,
      problem: `the object would be larger than ${MAX_PARTS} parts of ${PART_BYTES} bytes`,
      remedy: 'Set a smaller csv.partBytes, so that rows are split into more objects.',
    });
  }
}
