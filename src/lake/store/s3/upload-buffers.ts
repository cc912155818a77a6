import { BufferPool } from '../../../core/buffer-pool.js';
import { PART_BYTES } from './multipart.js';

/** Size of a first buffer. Most objects are smaller than a part, and unused memory also triggers garbage collection. */
const FIRST_BYTES = 1024 * 1024;
const firstBuffers = new BufferPool({ least: FIRST_BYTES, most: FIRST_BYTES, count: 4 });
/** As many as one writer uses. */
const partBuffers = new BufferPool({ least: PART_BYTES, most: PART_BYTES, count: 2 });

/** A buffer of `PART_BYTES` for a part of an upload, or a smaller one for the beginning of an object. */
export function takeBuffer(of: 'object' | 'part'): Buffer {
  return of === 'object' ? firstBuffers.take(FIRST_BYTES) : partBuffers.take(PART_BYTES);
}

/** Nothing may use the buffer any more, and so no request that was repeated. */
export function giveBack(buffer: Buffer): void {
  (buffer.length === PART_BYTES ? partBuffers : firstBuffers).giveBack(buffer);
}
