import type { ObjectKey } from '../../core/brands.js';
import { crc32 } from './crc32.js';
import { RunningDigest } from './digest.js';
import type { ObjectWriter, WriteOptions, WrittenObject } from './port.js';

/**
 * What the writers of all stores have in common: the digest of the bytes, no call after the end, and failures. A failure or
 * `abort` discards what was written before it is thrown, and later calls throw it again.
 */
export abstract class GuardedWriter implements ObjectWriter {
  protected readonly key: ObjectKey;
  /** Aborts when the caller's signal does, and when the writer fails. */
  protected readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #digest = new RunningDigest();
  #working: Promise<unknown> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #done = false;

  constructor(key: ObjectKey, { signal }: WriteOptions = {}) {
    this.key = key;
    this.signal = signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, signal]);
  }

  get bytes(): number {
    return this.#digest.bytes;
  }

  /** @param crc of the chunk */
  protected abstract append(chunk: Uint8Array, crc: number): Promise<void>;

  /** Makes the object appear. */
  protected abstract complete(written: WrittenObject): Promise<WrittenObject>;

  /** Removes what was written. Never throws. */
  protected abstract discard(): Promise<void>;

  async write(chunk: Uint8Array, crc = crc32(chunk)): Promise<void> {
    await this.#guard(async () => {
      this.#digest.update(chunk, crc);
      await this.append(chunk, crc);
    });
  }

  async finish(): Promise<WrittenObject> {
    return this.#guard(async () => {
      const written = await this.complete(this.#digest.finish(this.key));
      this.#done = true;
      return written;
    });
  }

  async abort(): Promise<void> {
    if (this.#done || this.#failure !== null) return;
    this.#fail(new Error(`The writer of ${this.key} was aborted`));
    await this.#working?.catch(() => {});
    if (!this.#done) await this.discard();
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#done) throw new Error(`The writer of ${this.key} has finished`);
    if (this.#failure !== null) throw this.#failure.error;
    try {
      this.signal.throwIfAborted();
      const working = work();
      this.#working = working;
      return await working;
    } catch (error) {
      // If `abort` was called meanwhile, its error is thrown, and it discards.
      if (this.#failure === null) {
        this.#fail(error);
        await this.discard();
      }
      throw (this.#failure as { readonly error: unknown } | null)?.error ?? error;
    }
  }

  #fail(error: unknown): void {
    this.#failure = { error };
    this.#stop.abort(error);
  }
}
