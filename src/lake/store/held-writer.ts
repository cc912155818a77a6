import type { ObjectWriter, WrittenObject } from './port.js';

/** Collects an object in memory. */
export class HeldWriter implements ObjectWriter {
  bytes = 0;
  #pieces: Buffer[] = [];
  readonly #onFinish: (pieces: readonly Buffer[]) => WrittenObject | Promise<WrittenObject>;

  constructor(onFinish: (pieces: readonly Buffer[]) => WrittenObject | Promise<WrittenObject>) {
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
