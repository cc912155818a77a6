import type { Millis } from './brands.js';

interface PoolOptions {
  /** Bytes of the smallest buffer. */
  readonly least: number;
  /** Bytes of the largest buffer that is kept. */
  readonly most: number;
  /** The most buffers that are kept. */
  readonly count: number;
}

/** How long buffers are kept after the last one was given back. */
const KEPT_MS: Millis = 5_000;
/** New buffers have a multiple of these bytes, so that they also fit what is a little larger. */
const STEP_BYTES = 8 * 1024;
/** A buffer that is larger than this multiple of what is needed stays for something larger. */
const MOST_EXCESS = 2;

/**
 * Buffers that are used again. V8 frees one that is no longer used only when it next collects garbage, and hundreds are filled in between. A
 * new one also costs a page fault for every 4 KiB.
 */
export class BufferPool {
  readonly #own = new WeakSet<ArrayBufferLike>();
  /** Those that are free, the oldest first. */
  readonly #kept: ArrayBufferLike[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: PoolOptions) {}

  /** A buffer of so many bytes, with any content. */
  take(bytes: number): Buffer {
    const wanted = Math.max(bytes, this.options.least);
    const at = this.#bestFor(wanted);
    if (at !== -1) return Buffer.from(this.#kept.splice(at, 1)[0]!, 0, bytes);
    const { buffer } = Buffer.allocUnsafeSlow(STEP_BYTES * Math.ceil(wanted / STEP_BYTES));
    this.#own.add(buffer);
    return Buffer.from(buffer, 0, bytes);
  }

  #bestFor(bytes: number): number {
    let best = -1;
    for (const [at, { byteLength }] of this.#kept.entries()) {
      if (byteLength < bytes || byteLength > MOST_EXCESS * bytes) continue;
      if (best === -1 || byteLength < this.#kept[best]!.byteLength) best = at;
    }
    return best;
  }

  /** Keeps a buffer of `take`, or of a part of it, for a few seconds. Nothing may use it any more. Any other buffer is ignored. */
  giveBack({ buffer }: Buffer): void {
    const { most, count } = this.options;
    if (!this.#own.has(buffer) || buffer.byteLength > most || this.#kept.includes(buffer)) return;
    this.#kept.push(buffer);
    if (this.#kept.length > count) this.#kept.shift();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#kept.length = 0;
    }, KEPT_MS).unref();
    this.#timer.refresh();
  }
}
