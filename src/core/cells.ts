import type { ByteString } from './brands.js';

/** A record's values by column: `null` or a hole for a missing value, `''` for the empty string. */
export type Cells = (ByteString | null | undefined)[];
