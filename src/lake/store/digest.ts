import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../core/brands.js';
import { crc32, crc32Combine, crc32ToHex } from './crc32.js';
import type { ObjectStore, WrittenObject } from './port.js';

/** Computes length, CRC32 and SHA-256 of a stream of bytes. */
export class RunningDigest {
  readonly #sha256 = createHash('sha256');
  #crc32 = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** @param known the chunk's CRC32, where it has just been computed */
  update(chunk: Uint8Array, known?: number): void {
    this.#sha256.update(chunk);
    this.#crc32 =
      known === undefined ? crc32(chunk, this.#crc32) : crc32Combine(this.#crc32, known, chunk.length);
    this.#bytes += chunk.length;
  }

  /** Completes the digest. Call it once. */
  finish(key: ObjectKey): WrittenObject {
    return { key, bytes: this.#bytes, crc32: crc32ToHex(this.#crc32), sha256: this.#sha256.digest('hex') };
  }
}

/** The digest of a whole object. */
export function digestOf(key: ObjectKey, bytes: Uint8Array): WrittenObject {
  const digest = new RunningDigest();
  digest.update(bytes);
  return digest.finish(key);
}

/** SHA-256 of the bytes of an object, which it reads; 64 lower-case hex digits. */
export async function sha256InStore(
  store: ObjectStore,
  key: ObjectKey,
  signal: AbortSignal | undefined,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of store.stream(key, { signal })) hash.update(chunk);
  return hash.digest('hex');
}

/** Compares an object in the store with what was sent. Returns the problem, or `null`. */
export async function checkObject(
  store: ObjectStore,
  { key, bytes, crc32 }: Pick<WrittenObject, 'key' | 'bytes' | 'crc32'>,
): Promise<string | null> {
  const found = await store.head(key);
  if (found === null) return `${key} is missing`;
  if (found.bytes !== bytes) return `${key} has ${found.bytes} bytes instead of ${bytes}`;
  if (found.crc32 !== null && found.crc32 !== crc32)
    return `${key} has CRC32 ${found.crc32} instead of ${crc32}`;
  return null;
}
