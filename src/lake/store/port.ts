import type { EpochMs, ObjectKey } from '../../core/brands.js';
import type { Removal } from '../../core/removal.js';

export interface ObjectInfo {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** Opaque. Compare it only for equality. */
  readonly etag: string;
  /** CRC32 of the whole object, 8 lower-case hex digits; null if the store does not report it. */
  readonly crc32: string | null;
  readonly modifiedAt: EpochMs;
}

export type ListedObject = Pick<ObjectInfo, 'key' | 'bytes' | 'modifiedAt'>;

/** A written object. The checksums are computed from the bytes sent; the store has verified the CRC32. */
export interface WrittenObject {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** 8 lower-case hex digits. */
  readonly crc32: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Whether the store's response has this CRC32, so that it need not be requested. Absent: no. */
  readonly confirmed?: true;
}

export interface ByteRange {
  /** From 0. */
  readonly offset: number;
  /** At least 1. A range that extends past the end of the object is shortened. */
  readonly length: number;
}

export interface ReadOptions {
  readonly range?: ByteRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions {
  /** The most entries of one response of the store. Default: what the store uses, 1,000 in S3. */
  readonly pageSize?: number;
  /**
   * Whether to leave out a folder that this user may not read, by its key with a slash at the end. Default: the listing fails. Only
   * folders on a file system have their own permissions.
   */
  readonly skipUnreadable?: (folder: string) => boolean;
}

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface WriterOptions extends WriteOptions {
  /** Size of the object, if it is known: a store that collects the object then needs no copy of it. */
  readonly bytes?: number | undefined;
}

export type SwapResult =
  | { readonly outcome: 'written'; readonly etag: string }
  | { readonly outcome: 'conflict' };

/** The version that `swap` expects, or `absent` for no object. */
export type Expected = { readonly etag: string } | 'absent';

/**
 * Writes a body of unknown length to one object and holds at most about 10 MiB. The object appears complete at `finish`,
 * or never. A failed `write` or `finish` removes the upload. A caller that stops earlier must call `abort`.
 */
export interface ObjectWriter {
  /** Bytes accepted so far. */
  readonly bytes: number;
  /**
   * Resolves when the writer accepts more. The caller may then reuse the chunk. Calls must not overlap.
   *
   * @param crc32 of the chunk, if the caller has just computed it
   */
  write(chunk: Uint8Array, crc32?: number): Promise<void>;
  finish(): Promise<WrittenObject>;
  /** Stops and removes the uploaded bytes. Never throws; does nothing after `finish`. */
  abort(): Promise<void>;
}

export interface AbortedUploads {
  readonly aborted: number;
  /** What the store said when it refused to list them or to end one; `null`: it did not. */
  readonly refused: string | null;
}

/** Receives warnings about problems that did not cause a failure. */
export interface StoreLogger {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** All items of a listing or a stream. */
export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** All chunks of a stream as one buffer. */
export async function joined(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await collected(chunks));
}

/**
 * The interface to the object store of a lake. Keys are relative to the lake's root and are checked (`toObjectKey`), so
 * no key can point outside the lake. Failures are `StoreError`s; an aborted signal throws its reason.
 */
export interface ObjectStore {
  /** The lake's URL without a trailing slash. */
  readonly url: string;
  /**
   * The whole object or a range; a range past the end gives an empty buffer. Throws ObjectNotFoundError, and
   * DocumentTooLargeError for more bytes than objects of its kind may have (`sizeLimitOf`), as the next method does.
   */
  read(key: ObjectKey, options?: ReadOptions): Promise<Buffer>;
  /** Body and ETag of one version, for a later `swap`; null when absent. */
  readIfExists(
    key: ObjectKey,
    options?: Pick<ReadOptions, 'signal'>,
  ): Promise<{ body: Buffer; etag: string } | null>;
  /** As `read`, in chunks. After a broken connection it resumes at the same byte of the same version. */
  stream(key: ObjectKey, options?: ReadOptions): AsyncIterable<Buffer>;
  /**
   * Writes an object with one request and overwrites an existing one. The store checks the CRC32. The media type follows from
   * the end of the key. Throws DocumentTooLargeError before the request, as `swap` does.
   */
  write(
    key: ObjectKey,
    body: Uint8Array | readonly Uint8Array[],
    options?: WriteOptions,
  ): Promise<WrittenObject>;
  /** Starts a write of unknown length. It overwrites an existing object at `finish`. */
  openWriter(key: ObjectKey, options?: WriterOptions): ObjectWriter;
  /**
   * Writes an object only if it still has the expected version. Of concurrent calls that expect the
   * same version, one succeeds. Throws StoreUnclearError if the request was sent and its outcome is unknown.
   */
  swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult>;
  head(key: ObjectKey): Promise<ObjectInfo | null>;
  /** Lists every object whose key begins with the prefix (`''` for all), in byte order of the keys. */
  list(prefix: string, options?: ListOptions): AsyncIterable<ListedObject>;
  /** Names of the folders directly below the prefix, which is `''` or ends in `/`, that hold an object at any depth; sorted. */
  listFolders(prefix: string, options?: Pick<ListOptions, 'skipUnreadable'>): Promise<string[]>;
  /**
   * Copies one object inside the store and overwrites an existing one. Throws ObjectNotFoundError.
   *
   * @param bytes size of the object, if the caller knows it and checks the copy: saves a request
   */
  copy(from: ObjectKey, to: ObjectKey, bytes?: number): Promise<void>;
  /**
   * Removes objects. Missing objects are not an error. Objects that the store refuses to remove, for example because of a
   * policy or a lock, are counted in the result and stay; other failures are thrown.
   */
  remove(keys: readonly ObjectKey[]): Promise<Removal>;
  /**
   * Aborts unfinished uploads of killed processes below the prefix (`''` or ending in `/`). Uploads that the store refuses to list or
   * to end stay; they are no objects, so no reader sees them.
   *
   * @param isAbandoned whether to abort an upload, given the key of its object and the time when the upload began, by
   *   the store's clock; default: all. In a file lake, the name after the last `/` is that of the
   *   temporary file, and the time that of its last change.
   */
  abortUploads(
    prefix: string,
    isAbandoned?: (key: ObjectKey, startedAt: EpochMs) => boolean | Promise<boolean>,
  ): Promise<AbortedUploads>;
  /**
   * Tests an upload of two parts as a run makes it, and unfinished uploads, with probe objects under `_staging/`, which it removes.
   * What the store does not do but a run can replace is a warning of the logger.
   */
  probeUploads(): Promise<void>;
  /**
   * The store's clock now: the `Date` of its last response, and the time since. `null` before the first
   * response, without `Date`, and for a folder, which has this machine's clock.
   */
  serverTime(): EpochMs | null;
  /** Closes connections. The store must not be used afterwards. */
  close(): void;
}
