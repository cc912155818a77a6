import type { ByteString } from './brands.js';

/** A record's values by column: `null` or a hole where it has none, `''` for the empty string. */
export type Cells = (ByteString | null | undefined)[];
