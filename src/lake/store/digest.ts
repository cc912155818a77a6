import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../core/brands.js';
import { crc32, crc32ToHex } from '../crc32.js';
import type { WrittenObject } from './port.js';

/** Length, CRC32 and SHA-256 of bytes that pass by. */
export class RunningDigest {
  readonly #sha256 = createHash('sha256');
  #crc32 = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get crc32(): number {
    return this.#crc32;
  }

  update(chunk: Uint8Array): void {
    this.#sha256.update(chunk);
    this.#crc32 = crc32(chunk, this.#crc32);
    this.#bytes += chunk.length;
  }

  /** Ends the digest: call it once. */
  finish(key: ObjectKey): WrittenObject {
    return { key, bytes: this.#bytes, crc32: crc32ToHex(this.#crc32), sha256: this.#sha256.digest('hex') };
  }
}
