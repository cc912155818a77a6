import type { ByteString, Cursor } from '../../core/brands.js';

/** What is looked at, in characters: the envelope's `page` stands behind its `data`. */
const TAIL = 4096;

/** A `nextCursor` of plain characters among plain members, up to the end of the envelope. */
const AT_THE_END =
  /"nextCursor"\s*:\s*"([\x20\x21\x23-\x5b\x5d-\x7e]+)"\s*(?:,\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*)*\}\s*\}\s*$/;

/**
 * The cursor that a list's page seems to end with, found without reading the page, so that the next one can be asked for
 * at once. A guess: only `readListPage` knows. `null` where it does not show.
 */
export function peekNextCursor(body: ByteString): Cursor | null {
  return (AT_THE_END.exec(body.slice(-TAIL))?.[1] as Cursor | undefined) ?? null;
}
