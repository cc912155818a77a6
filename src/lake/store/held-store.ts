import type { ObjectKey } from '../../core/brands.js';
import { digestOf } from './digest.js';
import type { ObjectStore, WrittenObject } from './port.js';

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
export interface HeldStore extends ObjectStore {
  /** Keeps a copy of an object of the lake, so that it is not read again. */
  hold(key: ObjectKey, body: Buffer): void;
  /** Whether it is in memory. */
  holds(key: ObjectKey): boolean;
  /** The keys of objects that are only in memory, in their order. */
  heldKeys(prefix: string): ObjectKey[];
  /** Writes the objects that are only in memory to the lake. They stay in memory, too. @param onEnd called when none is left */
  writeHeld(isWanted: (key: ObjectKey) => boolean, onEnd?: () => void): Promise<void>;
}

/** A larger object is copied within the store. */
export const MAX_COPY_BYTES = 256 * 1024;

/** Holds what a run in memory stages. `close` gives the memory back: the connection closes the real store. */
export function holdObjects(real: ObjectStore, { isHeld, onHeld }: HeldOptions): HeldStore {
  const staged = new Map<ObjectKey, Buffer>();
  /** Staged objects that are in the lake, too. */
  const saved = new Set<ObjectKey>();
  const copies = new Map<ObjectKey, Buffer>();
  const confirmed = new Map<ObjectKey, WrittenObject>();
  const held = (key: ObjectKey): Buffer | undefined => staged.get(key) ?? copies.get(key);
  const keep = (key: ObjectKey, body: Buffer): WrittenObject => {
    onHeld(body.length - (staged.get(key)?.length ?? 0));
    // The newest one is the last.
    staged.delete(key);
    saved.delete(key);
    staged.set(key, body);
    return digestOf(key, body);
  };
  const store: HeldStore = {
    ...real,
    hold(key, body) {
      onHeld(body.length);
      copies.set(key, body);
    },
    holds: (key) => held(key) !== undefined,
    heldKeys: (prefix) => [...staged.keys()].filter((key) => key.startsWith(prefix)).sort(),
    async writeHeld(isWanted, onEnd = () => {}) {
      for (const [key, body] of staged) {
        if (saved.has(key) || !isWanted(key)) continue;
        await real.write(key, body);
        if (staged.get(key) === body) saved.add(key);
      }
      onEnd();
    },
    async read(key, options = {}) {
      const body = held(key);
      if (body === undefined) return real.read(key, options);
      options.signal?.throwIfAborted();
      const { offset, length } = options.range ?? { offset: 0, length: body.length };
      return body.subarray(offset, offset + length);
    },
    async readIfExists(key, options) {
      if (!isHeld(key)) return real.readIfExists(key, options);
      const body = staged.get(key);
      return body === undefined ? null : { body, etag: '' };
    },
    // No one else writes what is only in memory.
    async swap(key, body, expected) {
      if (!isHeld(key)) return real.swap(key, body, expected);
      await store.write(key, body);
      return { outcome: 'written', etag: '' };
    },
    async *stream(key, options) {
      if (held(key) === undefined) yield* real.stream(key, options);
      else yield await store.read(key, options);
    },
    async write(key, body, options) {
      // A copy: the writer of a piece may reuse its memory.
      if (isHeld(key)) return keep(key, Buffer.concat(body instanceof Uint8Array ? [body] : body));
      const written = await real.write(key, body, options);
      if (written.confirmed) confirmed.set(key, written);
      return written;
    },
    // What a run in memory writes is small, so each object is written with one request.
    openWriter(key, options) {
      const expected = options?.bytes;
      let pieces: Buffer[] = [];
      let whole = expected === undefined ? null : Buffer.allocUnsafeSlow(expected);
      let bytes = 0;
      return {
        get bytes() {
          return bytes;
        },
        async write(chunk) {
          // The caller may reuse the chunk.
          if (whole === null) pieces.push(Buffer.from(chunk));
          else whole.set(chunk, bytes);
          bytes += chunk.length;
        },
        async finish() {
          const body = whole?.subarray(0, bytes) ?? Buffer.concat(pieces);
          pieces = [];
          whole = null;
          if (isHeld(key)) return keep(key, body);
          const written = await store.write(key, body, options);
          // A copy is then a write, whose response confirms the CRC32.
          if (bytes <= MAX_COPY_BYTES) store.hold(key, body);
          return written;
        },
        async abort() {
          pieces = [];
          whole = null;
        },
      };
    },
    async head(key) {
      const written = confirmed.get(key);
      return written === undefined ? real.head(key) : { ...written, etag: '', modifiedAt: 0 };
    },
    async copy(from, to, bytes) {
      const body = held(from);
      if (body === undefined) await real.copy(from, to, bytes);
      else await store.write(to, body);
    },
    close() {
      staged.clear();
      copies.clear();
    },
  };
  return store;
}
