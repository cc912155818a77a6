/** Chunks below this size are joined, bytes. */
const SMALL_BYTES = 4096;
/** Small chunks that are joined at a time. */
const JOINED = 256;

/** Collects the chunks of a body. Small ones are joined: each buffer takes about 120 bytes more than its content. */
export class ChunkList {
  readonly #chunks: Buffer[] = [];
  #small: Buffer[] = [];

  add(chunk: Buffer): void {
    if (chunk.length >= SMALL_BYTES) {
      this.#join();
      this.#chunks.push(chunk);
    } else if (this.#small.push(chunk) === JOINED) {
      this.#join();
    }
  }

  /** All chunks so far, in order. */
  chunks(): readonly Buffer[] {
    this.#join();
    return this.#chunks;
  }

  #join(): void {
    const [only] = this.#small;
    if (only === undefined) return;
    this.#chunks.push(this.#small.length === 1 ? only : Buffer.concat(this.#small));
    this.#small = [];
  }
}
