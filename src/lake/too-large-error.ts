import type { ObjectKey } from '../core/brands.js';
import { WorktrackError } from '../core/errors.js';
import { recoveryOf } from './damaged-error.js';

/** What is too large, and by how much. Sizes are in bytes. */
interface TooLarge {
  readonly key: ObjectKey;
  /** What has the limit, such as `a manifest`. */
  readonly what: string;
  readonly maxBytes: number;
  /** `null`: not known, because the reading ended at the limit. */
  readonly bytes: number | null;
}

/**
 * An object of the lake, or a block or row of it, is above its limit (docs/reference/limits.md#objects-of-the-lake). A retry gives
 * the same result. What is too large is not damaged, so nothing leaves it out.
 */
export class DocumentTooLargeError extends WorktrackError {
  readonly code: 'LAKE_TOO_LARGE' | 'LAKE_WRITE_TOO_LARGE';
  readonly key: ObjectKey;
  readonly maxBytes: number;

  /** @param access `write`: nothing was written; the failure of the run is a `Check` */
  constructor(access: 'read' | 'write', { key, what, maxBytes, bytes }: TooLarge) {
    const size = bytes === null ? '' : ` with ${bytes.toLocaleString('en-US')} bytes`;
    const limit = `${what} has at most ${maxBytes.toLocaleString('en-US')} bytes`;
    super(
      access === 'read'
        ? `${key} is too large${size}: ${limit}. It was not read.`
        : `${key} would be too large${size}: ${limit}. It was not written.`,
      { remedy: access === 'read' ? recoveryOf(key) : SMALLER },
    );
    this.code = access === 'read' ? 'LAKE_TOO_LARGE' : 'LAKE_WRITE_TOO_LARGE';
    this.key = key;
    this.maxBytes = maxBytes;
  }
}

const SMALLER =
  'Exclude columns with `columns.exclude`, or set a larger `csv.partSize` so that there are fewer parts. In write-back, split the file.';
