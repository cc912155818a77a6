import type { ByteRange } from './port.js';

/** Throws a RangeError unless the offset is a whole number from 0 and the length one from 1. */
export function checkRange(range: ByteRange): void {
  if (!Number.isSafeInteger(range.offset) || range.offset < 0) {
    throw new RangeError(`A range's offset must be a whole number of at least 0, found ${range.offset}`);
  }
  if (!Number.isSafeInteger(range.length) || range.length < 1) {
    throw new RangeError(`A range's length must be a whole number of at least 1, found ${range.length}`);
  }
}
