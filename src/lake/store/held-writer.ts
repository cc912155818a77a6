import type { ObjectWriter, WrittenObject } from './port.js';

/** Collects an object in memory. */
export class HeldWriter implements ObjectWriter {
  bytes = 0;
  #pieces: Buffer[] = [];
  readonly #onFinish: (pieces: readonly Buffer[]) => WrittenObject;

  constructor(onFinish: (pieces: readonly Buffer[]) => WrittenObject) {
    this.#onFinish = onFinish;
  }

  async write(chunk: Uint8Array): Promise<void> {
    // The caller may reuse the chunk.
    this.#pieces.push(Buffer.from(chunk));
    this.bytes += chunk.length;
  }

  async finish(): Promise<WrittenObject> {
    return this.#onFinish(this.#pieces);
  }

  async abort(): Promise<void> {
    this.#pieces = [];
  }
}

/** Reports the object that another writer has written. */
export class RecordingWriter implements ObjectWriter {
  constructor(
    private readonly writer: ObjectWriter,
    private readonly onFinish: (written: WrittenObject) => void,
  ) {}

  get bytes(): number {
    return this.writer.bytes;
  }

  write(chunk: Uint8Array, crc32?: number): Promise<void> {
    return this.writer.write(chunk, crc32);
  }

  async finish(): Promise<WrittenObject> {
    const written = await this.writer.finish();
    this.onFinish(written);
    return written;
  }

  abort(): Promise<void> {
    return this.writer.abort();
  }
}
