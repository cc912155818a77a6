import type { ByteString, Cursor } from '../../core/brands.js';

/** Number of characters to search at the end of the body: `page` follows `data` in the envelope. */
const TAIL = 4096;

/** Matches a `nextCursor` without escapes, followed by simple members up to the end of the envelope. */
const AT_THE_END =
  /"nextCursor"\s*:\s*"([\x20\x21\x23-\x5b\x5d-\x7e]+)"\s*(?:,\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*)*\}\s*\}\s*$/;

/**
 * Guesses the next cursor without reading the page, so that the next page can be requested immediately. Only
 * `readListPage` returns the actual cursor. `null` if no cursor is found.
 */
export function peekNextCursor(body: ByteString): Cursor | null {
  return (AT_THE_END.exec(body.slice(-TAIL))?.[1] as Cursor | undefined) ?? null;
}
