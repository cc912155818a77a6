import type { ObjectKey } from '../../core/brands.js';
import { digestOf } from './digest.js';
import type {
  AbortedUploads,
  Expected,
  ListedObject,
  ListOptions,
  ObjectInfo,
  ObjectStore,
  ObjectWriter,
  ReadOptions,
  SwapResult,
  WriteOptions,
  WrittenObject,
} from './port.js';

interface HeldOptions {
  /** Whether an object stays in memory instead of being written. */
  readonly isHeld: (key: ObjectKey) => boolean;
  /** Called with the bytes that memory has taken more. */
  readonly onHeld: (bytes: number) => void;
}

/**
 * A store as a run in memory sees it: the objects that it stages are in memory, and everything else is in the lake. An object
 * whose CRC32 the store has confirmed in its response to the PUT is not requested again.
 */
export class HeldStore implements ObjectStore {
  readonly url: string;
  readonly #real: ObjectStore;
  readonly #options: HeldOptions;
  readonly #staged = new Map<ObjectKey, Buffer>();
  /** Staged objects that are in the lake, too. */
  readonly #saved = new Set<ObjectKey>();
  readonly #copies = new Map<ObjectKey, Buffer>();
  readonly #confirmed = new Map<ObjectKey, WrittenObject>();

  constructor(real: ObjectStore, options: HeldOptions) {
    this.url = real.url;
    this.#real = real;
    this.#options = options;
  }

  /** Keeps a copy of an object of the lake, so that it is not read again. */
  hold(key: ObjectKey, body: Buffer): void {
    this.#options.onHeld(body.length);
    this.#copies.set(key, body);
  }

  /** Writes the objects that are only in memory to the lake. They stay in memory, too. */
  async writeHeld(isWanted: (key: ObjectKey) => boolean): Promise<void> {
    for (const [key, body] of this.#staged) {
      if (this.#saved.has(key) || !isWanted(key)) continue;
      await this.#real.write(key, body);
      this.#saved.add(key);
    }
  }

  async read(key: ObjectKey, options: ReadOptions = {}): Promise<Buffer> {
    const held = this.#held(key);
    if (held === undefined) return this.#real.read(key, options);
    options.signal?.throwIfAborted();
    const { offset, length } = options.range ?? { offset: 0, length: held.length };
    return held.subarray(offset, offset + length);
  }

  readIfExists(key: ObjectKey): Promise<{ body: Buffer; etag: string } | null> {
    return this.#real.readIfExists(key);
  }

  async *stream(key: ObjectKey, options: ReadOptions = {}): AsyncIterable<Buffer> {
    if (this.#held(key) === undefined) yield* this.#real.stream(key, options);
    else yield await this.read(key, options);
  }

  async write(
    key: ObjectKey,
    body: Uint8Array | readonly Uint8Array[],
    options: WriteOptions = {},
  ): Promise<WrittenObject> {
    if (this.#options.isHeld(key)) return this.#stage(key, body instanceof Uint8Array ? [body] : body);
    const written = await this.#real.write(key, body, options);
    if (written.confirmed) this.#confirmed.set(key, written);
    return written;
  }

  /** What a run in memory writes is small, so each object is written with one request. */
  openWriter(key: ObjectKey, options: WriteOptions = {}): ObjectWriter {
    return new HeldWriter((pieces) => this.write(key, pieces, options));
  }

  swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult> {
    return this.#real.swap(key, body, expected);
  }

  async head(key: ObjectKey): Promise<ObjectInfo | null> {
    const written = this.#confirmed.get(key);
    return written === undefined ? this.#real.head(key) : { ...written, etag: '', modifiedAt: 0 };
  }

  list(prefix: string, options?: ListOptions): AsyncIterable<ListedObject> {
    return this.#real.list(prefix, options);
  }

  listFolders(prefix: string): Promise<string[]> {
    return this.#real.listFolders(prefix);
  }

  async copy(from: ObjectKey, to: ObjectKey, bytes?: number): Promise<void> {
    const held = this.#held(from);
    if (held === undefined) await this.#real.copy(from, to, bytes);
    else await this.write(to, held);
  }

  remove(keys: readonly ObjectKey[]): ReturnType<ObjectStore['remove']> {
    return this.#real.remove(keys);
  }

  abortUploads(
    prefix: string,
    isAbandoned?: (key: ObjectKey, startedAt: number) => boolean,
  ): Promise<AbortedUploads> {
    return this.#real.abortUploads(prefix, isAbandoned);
  }

  probeUploads(): Promise<void> {
    return this.#real.probeUploads();
  }

  /** Does nothing: the connection closes the real store. */
  close(): void {}

  #held(key: ObjectKey): Buffer | undefined {
    return this.#staged.get(key) ?? this.#copies.get(key);
  }

  #stage(key: ObjectKey, pieces: readonly Uint8Array[]): WrittenObject {
    // A copy: the writer of a piece may reuse its memory.
    const body = Buffer.concat(pieces);
    this.#options.onHeld(body.length);
    this.#staged.set(key, body);
    return digestOf(key, body);
  }
}

/** Collects an object in memory. */
class HeldWriter implements ObjectWriter {
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
