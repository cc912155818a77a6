import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32Combine, crc32ToHex } from '../../crc32.js';
import { StoreError } from '../errors/store-error.js';
import type { ObjectWriter, WriteOptions, WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { MAX_PARTS, MultipartUpload } from './multipart.js';
import { putObject } from './put.js';

/** Two of them are held at most. With 10,000 parts an object can have 78 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;
/** Most objects are smaller than a part, and memory that is asked for counts with the garbage collector, used or not. */
const FIRST_BYTES = 1024 * 1024;

/**
 * Streams a body into one object: one buffer fills while the other one is on its way. What fits into the first
 * buffer becomes a single PutObject. Any failure removes the upload before it is thrown, and stays the answer to
 * later calls.
 */
export class S3Writer implements ObjectWriter {
  readonly #s3: S3Connection;
  readonly #key: ObjectKey;
  readonly #options: WriteOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #sha256 = createHash('sha256');
  #buffer: Buffer | null = null;
  #spare: Buffer | null = null;
  #filled = 0;
  #bytes = 0;
  #crc = 0;
  #partNumber = 0;
  #upload: MultipartUpload | null = null;
  #inFlight: Promise<unknown> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #done = false;

  constructor(s3: S3Connection, key: ObjectKey, options: WriteOptions) {
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

  async write(chunk: Uint8Array): Promise<void> {
    await this.#guard(async () => {
      this.#sha256.update(chunk);
      for (let offset = 0; offset < chunk.length; ) {
        // A full buffer is sent only when more comes, so that a body of exactly one part is still one PutObject.
        if (this.#filled === PART_BYTES) await this.#sendPart();
        const piece = chunk.subarray(offset, offset + PART_BYTES - this.#filled);
        this.#bufferFor(this.#filled + piece.length).set(piece, this.#filled);
        this.#filled += piece.length;
        offset += piece.length;
      }
      this.#bytes += chunk.length;
    });
  }

  #bufferFor(bytes: number): Buffer {
    this.#buffer ??= this.#spare ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
    if (bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(PART_BYTES);
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
    const crc = crc32(part);
    this.#crc = crc32Combine(this.#crc, crc, length);
    const sending = upload.upload(this.#partNumber, part, crc, this.#signal).then(() => {
      this.#spare = body;
    });
    sending.catch(() => {});
    this.#inFlight = sending;
    this.#buffer = null;
    this.#filled = 0;
  }

  /** Takes no signal: an aborted request could leave an upload whose id nobody knows. */
  async #createUpload(): Promise<MultipartUpload> {
    const { contentType } = this.#options;
    const creating = MultipartUpload.create(this.#s3, this.#key, 'write', { contentType }).then((upload) => {
      this.#upload = upload;
      return upload;
    });
    this.#inFlight = creating;
    return creating;
  }

  /** Waits for the part on its way and throws its error. */
  async #settled(): Promise<void> {
    const sending = this.#inFlight;
    if (sending === null) return;
    await sending;
    this.#inFlight = null;
  }

  async #put(): Promise<WrittenObject> {
    const body = this.#buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0);
    return putObject(this.#s3, this.#key, body, { ...this.#options, signal: this.#signal });
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

  /** Refuses calls after the end, and cleans up before an error goes out. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#done) throw new Error(`The writer of ${this.#key} has finished`);
    if (this.#failure !== null) throw this.#failure.error;
    try {
      this.#signal.throwIfAborted();
      return await work();
    } catch (error) {
      // An abort by another call has come first, and its error is the one to tell.
      if (this.#failure === null) await this.#fail(error);
      throw (this.#failure as { readonly error: unknown } | null)?.error ?? error;
    }
  }

  async #fail(error: unknown): Promise<void> {
    this.#failure = { error };
    this.#stop.abort(error);
    // A part that arrives after the abort could stay in the store: wait until it is settled.
    await this.#inFlight?.catch(() => {});
    await this.#upload?.abort();
    this.#release();
  }

  #release(): void {
    this.#buffer = null;
    this.#spare = null;
    this.#inFlight = null;
  }

  #tooLarge(): StoreError {
    return new StoreError({
      kind: 'other',
      operation: 'write',
      key: this.#key,
      bucket: `s3://${this.#s3.bucket}`,
      problem: `the object would be larger than ${MAX_PARTS} parts of ${PART_BYTES} bytes`,
      remedy: 'Set a smaller csv.partBytes, so that the rows are spread over more objects.',
    });
  }
}
