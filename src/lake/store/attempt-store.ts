import type { ObjectKey } from '../../core/brands.js';
import { ALL_REMOVED, type Removal } from '../../core/removal.js';
import { contentTypeOf } from './content-type.js';
import { crc32, crc32ToHex } from './crc32.js';
import { RunningDigest } from './digest.js';
import { HandOver } from './errors/hand-over.js';
import { ObjectNotFoundError } from './errors/object-not-found-error.js';
import { HeldWriter } from './held-writer.js';
import type {
  AbortedUploads,
  ConditionalWrites,
  Expected,
  ListedObject,
  ObjectInfo,
  ObjectStore,
  ObjectWriter,
  ReadOptions,
  SwapResult,
  WriteOptions,
  WrittenObject,
} from './port.js';

/** The keys that one attempt uses alone. */
interface OwnKeys {
  /** Prefix of the staging folder, which stays in memory. */
  readonly staging: string;
  /** Prefixes of the folders that only this attempt writes. */
  readonly folders: readonly string[];
  /** Written conditionally at the end. Until then, it is read once. */
  readonly pointer: ObjectKey;
  /** Bytes in memory from which the attempt hands over. */
  readonly maxBytes: number;
}

/** An object in memory. */
interface Held {
  readonly body: Buffer;
  readonly etag: string;
}

/** The stores behind the views. */
const behind = new WeakMap<ObjectStore, ObjectStore>();

/** The store that a view passes its requests to; any other store itself. */
export function realStore(store: ObjectStore): ObjectStore {
  return behind.get(store) ?? store;
}

/**
 * A store as one attempt of a short run sees it. The staging folder stays in memory. Until `beginWriting`, any other write
 * throws `HandOver`, so the attempt leaves no trace in the lake. An object whose CRC32 the store has confirmed in its
 * response to the PUT is not requested again. Everything else goes to the real store.
 */
export class AttemptStore implements ObjectStore {
  readonly url: string;
  readonly #real: ObjectStore;
  readonly #own: OwnKeys;
  readonly #held = new Map<ObjectKey, Held>();
  readonly #written = new Map<ObjectKey, WrittenObject>();
  #pointer: Promise<{ body: Buffer; etag: string } | null> | null = null;
  #bytes = 0;
  #versions = 0;
  #mayWrite = false;

  constructor(real: ObjectStore, own: OwnKeys) {
    this.url = real.url;
    this.#real = real;
    this.#own = own;
    behind.set(this, realStore(real));
  }

  /** From here on, writes outside the staging folder go to the real store. */
  beginWriting(): void {
    this.#mayWrite = true;
  }

  /** Keeps an object of the real store in memory. @throws HandOver if that takes too much memory */
  hold(key: ObjectKey, body: Buffer): void {
    this.#bytes += body.length;
    if (this.#bytes > this.#own.maxBytes) throw new HandOver('it needs too much memory');
    this.#held.set(key, { body, etag: `held-${this.#versions++}` });
  }

  async read(key: ObjectKey, options: ReadOptions = {}): Promise<Buffer> {
    const held = this.#held.get(key);
    if (held === undefined) {
      if (this.#isStaged(key)) throw this.#missing('read', key);
      return this.#real.read(key, options);
    }
    options.signal?.throwIfAborted();
    const { offset, length } = options.range ?? { offset: 0, length: held.body.length };
    return held.body.subarray(offset, offset + length);
  }

  async readIfExists(key: ObjectKey): Promise<{ body: Buffer; etag: string } | null> {
    const held = this.#held.get(key);
    if (held !== undefined || this.#isStaged(key)) return held ?? null;
    if (key !== this.#own.pointer) return this.#real.readIfExists(key);
    this.#pointer ??= this.#real.readIfExists(key);
    return this.#pointer;
  }

  async *stream(key: ObjectKey, options: ReadOptions = {}): AsyncIterable<Buffer> {
    if (this.#held.has(key) || this.#isStaged(key)) yield await this.read(key, options);
    else yield* this.#real.stream(key, options);
  }

  async write(
    key: ObjectKey,
    body: Uint8Array | readonly Uint8Array[],
    options: WriteOptions,
  ): Promise<WrittenObject> {
    if (this.#isStaged(key)) return this.#stage(key, body instanceof Uint8Array ? [body] : body);
    this.#checkWrite();
    const written = await this.#real.write(key, body, options);
    this.#written.set(key, written);
    return written;
  }

  openWriter(key: ObjectKey, options: WriteOptions): ObjectWriter {
    if (this.#isStaged(key)) return new HeldWriter((pieces) => this.#stage(key, pieces));
    this.#checkWrite();
    // The parts of a short run are small, so they are written with one request.
    return new HeldWriter((pieces) => this.write(key, pieces, options));
  }

  async swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult> {
    if (!this.#isStaged(key)) {
      this.#checkWrite();
      if (key === this.#own.pointer) this.#pointer = null;
      const result = await this.#real.swap(key, body, expected);
      if (result.outcome === 'written' && key !== this.#own.pointer) this.#keepIfSmall(key, body);
      return result;
    }
    const found = this.#held.get(key);
    const isExpected = expected === 'absent' ? found === undefined : found?.etag === expected.etag;
    if (!isExpected) return { outcome: 'conflict' };
    this.#stage(key, [body]);
    return { outcome: 'written', etag: this.#held.get(key)!.etag };
  }

  async head(key: ObjectKey): Promise<ObjectInfo | null> {
    const held = this.#held.get(key);
    if (held !== undefined) {
      const { body, etag } = held;
      return { key, bytes: body.length, etag, crc32: crc32ToHex(crc32(body)), modifiedAt: 0 };
    }
    const written = this.#written.get(key);
    if (written?.confirmed) return { ...written, etag: '', modifiedAt: 0 };
    return this.#isStaged(key) ? null : this.#real.head(key);
  }

  async *list(prefix: string): AsyncIterable<ListedObject> {
    if (prefix.startsWith(this.#own.staging)) {
      yield* listed(
        prefix,
        [...this.#held].map(([key, { body }]) => ({ key, bytes: body.length })),
      );
    } else if (this.#own.folders.some((folder) => prefix.startsWith(folder))) {
      yield* listed(prefix, this.#written.values());
    } else yield* this.#real.list(prefix);
  }

  listFolders(prefix: string): Promise<string[]> {
    return this.#real.listFolders(prefix);
  }

  async copy(from: ObjectKey, to: ObjectKey, bytes?: number): Promise<void> {
    this.#checkWrite();
    const held = this.#held.get(from);
    if (held === undefined) return this.#real.copy(from, to, bytes);
    await this.write(to, held.body, { contentType: contentTypeOf(to) });
  }

  async remove(keys: readonly ObjectKey[]): Promise<Removal> {
    if (keys.length === 0) return ALL_REMOVED;
    this.#checkWrite();
    return this.#real.remove(keys);
  }

  async abortUploads(
    prefix: string,
    isAbandoned?: (key: ObjectKey, startedAt: number) => boolean,
  ): Promise<AbortedUploads> {
    this.#checkWrite();
    return this.#real.abortUploads(prefix, isAbandoned);
  }

  probeConditionalWrites(): Promise<ConditionalWrites> {
    return this.#real.probeConditionalWrites();
  }

  probeUploads(): Promise<void> {
    return this.#real.probeUploads();
  }

  /** Does nothing: the connection closes the real store. */
  close(): void {}

  /** Saves a request if the object is read again. Nothing may fail any more for lack of memory. */
  #keepIfSmall(key: ObjectKey, body: Uint8Array): void {
    if (this.#bytes + body.length < this.#own.maxBytes) this.hold(key, Buffer.from(body));
  }

  #isStaged(key: ObjectKey): boolean {
    return key.startsWith(this.#own.staging);
  }

  #checkWrite(): void {
    if (!this.#mayWrite) throw new HandOver('it writes before the merge');
  }

  #stage(key: ObjectKey, pieces: readonly Uint8Array[]): WrittenObject {
    // A copy: the writer of a piece may reuse its memory.
    const body = Buffer.concat(pieces);
    this.hold(key, body);
    const digest = new RunningDigest();
    digest.update(body);
    return digest.finish(key);
  }

  #missing(operation: string, key: ObjectKey): Error {
    return new ObjectNotFoundError({ operation, key, bucket: this.url });
  }
}

function* listed(
  prefix: string,
  objects: Iterable<Pick<ListedObject, 'key' | 'bytes'>>,
): Generator<ListedObject> {
  const found = [...objects].filter(({ key }) => key.startsWith(prefix));
  found.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { key, bytes } of found) yield { key, bytes, modifiedAt: 0 };
}
