import type { ObjectKey } from '../../core/brands.js';

/** What the store knows about one object. */
export interface ObjectInfo {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** Opaque; compare it for equality only. */
  readonly etag: string;
  /** CRC32 of the whole object, 8 lower-case hex digits; null where the store does not report one. */
  readonly crc32: string | null;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** One line of a listing. */
export type ListedObject = Pick<ObjectInfo, 'key' | 'bytes' | 'modifiedAt'>;

/** What was written, computed here from the bytes sent; the store has verified the CRC32. */
export interface WrittenObject {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** 8 lower-case hex digits. */
  readonly crc32: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export interface ByteRange {
  /** From 0. */
  readonly offset: number;
  /** At least 1; what lies beyond the end is left out. */
  readonly length: number;
}

export interface ReadOptions {
  readonly range?: ByteRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions {
  readonly contentType: string;
  readonly signal?: AbortSignal | undefined;
}

export type SwapResult =
  | { readonly outcome: 'written'; readonly etag: string }
  | { readonly outcome: 'conflict' };

/** What `swap` expects to find: a version, or nothing. */
export type Expected = { readonly etag: string } | 'absent';

/** Whether a store keeps the conditions of conditional writes, drops them silently, or answers them with errors. */
export type ConditionalWrites = 'supported' | 'ignored' | 'refused';

/**
 * A body of unknown length, on its way into one object. Holds about 16 MiB at most. The object appears whole at
 * `finish`, or never. After a failure of `write` or `finish` nothing is left behind; a writer that is given up must be aborted.
 */
export interface ObjectWriter {
  /** Accepted so far. */
  readonly bytes: number;
  /** Resolves when more may come. The chunk may be reused then. Calls must not overlap. */
  write(chunk: Uint8Array): Promise<void>;
  finish(): Promise<WrittenObject>;
  /** Gives up and removes what was uploaded. Never throws; does nothing after `finish`. */
  abort(): Promise<void>;
}

/** Where the stores say what happened without failing. */
export interface StoreLogger {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * The narrow view of a data lake that the rest of the package has. Keys are relative to the lake's root and are
 * checked (`toObjectKey`): no key reaches outside. Failures are `StoreError`s; an aborted signal throws its reason.
 */
export interface ObjectStore {
  /** The lake's URL without a trailing slash. */
  readonly url: string;
  /** The whole object or a range; a range past the end gives an empty buffer. Throws ObjectNotFoundError. */
  read(key: ObjectKey, options?: ReadOptions): Promise<Buffer>;
  /** Body and ETag of one version, for a later `swap`; null when absent. */
  readIfExists(key: ObjectKey): Promise<{ body: Buffer; etag: string } | null>;
  /** As `read`, in chunks. A connection that breaks is taken up again at the same byte of the same version. */
  stream(key: ObjectKey, options?: ReadOptions): AsyncIterable<Buffer>;
  /** One request of known length, overwriting; the store checks the CRC32. */
  write(
    key: ObjectKey,
    body: Uint8Array | readonly Uint8Array[],
    options: WriteOptions,
  ): Promise<WrittenObject>;
  /** Starts a body of unknown length, overwriting at `finish`. */
  openWriter(key: ObjectKey, options: WriteOptions): ObjectWriter;
  /**
   * Writes (as application/json) only if the object is still what was expected. Of several racing calls with the
   * same expectation one wins. Throws StoreUnclearError when the request was sent and its outcome is not known.
   */
  swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult>;
  head(key: ObjectKey): Promise<ObjectInfo | null>;
  /** Every object whose key begins with the prefix (`''`: all), in the byte order of the keys. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Names of the folders directly below the prefix, which is `''` or ends in `/`; sorted. */
  listFolders(prefix: string): Promise<string[]>;
  /** Server-side copy of one object, overwriting. Throws ObjectNotFoundError. */
  copy(from: ObjectKey, to: ObjectKey): Promise<void>;
  /** Missing objects are fine. */
  remove(keys: readonly ObjectKey[]): Promise<void>;
  /**
   * Drops unfinished uploads below the prefix (`''` or ending in `/`); returns their number. They are what killed
   * processes leave.
   *
   * @param isOver tells those that are to be dropped, by the object that they would have become; default: all. In a file
   *   lake the name behind the last `/` is not yet the object's.
   */
  abortUploads(prefix: string, isOver?: (key: ObjectKey) => boolean): Promise<number>;
  /** Tries conditional writes on a probe object below `_staging/`, and removes it. */
  probeConditionalWrites(): Promise<ConditionalWrites>;
  /** Closes connections. The store must not be used afterwards. */
  close(): void;
}
