import type { ByteRange } from './port.js';

/** Checks a byte range. @throws RangeError unless the offset is an integer of at least 0 and the length one of at least 1 */
export function checkRange(range: ByteRange): void {
  if (!Number.isSafeInteger(range.offset) || range.offset < 0) {
    throw new RangeError(`A range's offset must be an integer of at least 0, found ${range.offset}`);
  }
  if (!Number.isSafeInteger(range.length) || range.length < 1) {
    throw new RangeError(`A range's length must be an integer of at least 1, found ${range.length}`);
  }
}
