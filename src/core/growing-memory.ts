/**
 * Address space, which takes memory only as far as it has grown. Beyond it, the memory is copied into a larger one. To reserve and
 * to give back address space takes a hundred times as long as a small piece of memory, which is therefore a plain buffer.
 */
const SPAN_BYTES = 32 * 1024 * 1024;
const SMALL_BYTES = 64 * 1024;
const FIRST_BYTES = 4 * 1024;

/**
 * Memory outside the JavaScript heap that grows almost without copies, and that `release` gives back immediately: V8 frees a buffer
 * that is no longer used only when it next collects its old generation.
 */
export class GrowingMemory<View extends Buffer | Uint32Array> {
  #memory = new ArrayBuffer(0);
  #view: View;

  /** @param toView such as `Buffer.from`: all of the memory */
  constructor(private readonly toView: (memory: ArrayBuffer) => View) {
    this.#view = toView(this.#memory);
  }

  /** All of it, with any content after what was written. Valid until `reserve` or `release`. */
  get view(): View {
    return this.#view;
  }

  /** Grows to at least `length` items of the view, and keeps all that are there. */
  reserve(length: number): void {
    if (length <= this.#view.length) return;
    const least = this.#view.BYTES_PER_ELEMENT * length;
    const bytes = roundUp(Math.max(least, 2 * this.#view.byteLength));
    const { resizable, maxByteLength } = this.#memory;
    if (resizable && least <= maxByteLength) {
      this.#memory.resize(Math.min(bytes, maxByteLength));
    } else {
      const larger =
        bytes <= SMALL_BYTES
          ? new ArrayBuffer(bytes)
          : new ArrayBuffer(bytes, { maxByteLength: Math.max(SPAN_BYTES, 2 * bytes) });
      Buffer.from(this.#memory).copy(Buffer.from(larger));
      this.release();
      this.#memory = larger;
    }
    this.#view = this.toView(this.#memory);
  }

  /** Gives the memory back. It can grow again. */
  release(): void {
    if (this.#memory.resizable) this.#memory.resize(0);
    else this.#memory = new ArrayBuffer(0);
    this.#view = this.toView(this.#memory);
  }
}

/** To a multiple of the smallest memory, and so of the bytes of an item. */
function roundUp(bytes: number): number {
  return FIRST_BYTES * Math.ceil(bytes / FIRST_BYTES);
}
