import { hash } from 'node:crypto';

/** The hash of each cell of a record by its column; `''` for an empty cell. */
export type CellHashes = Readonly<Record<string, string>>;

/** Of 48 bits, so that a change is missed once in 10^14 times. */
const HASH_CHARS = 8;
/** With more columns, a kept record has one hash over all. */
const MAX_HASHES = 64;

export function hashOfCell(cell: string | null): string {
  return cell === null ? '' : hash('sha256', cell, 'base64url').slice(0, HASH_CHARS);
}

/** One hash over all cells that are not empty. */
export function hashOfCells(cells: CellHashes): string {
  const filled = Object.entries(cells).filter(([, one]) => one !== '');
  const sorted = filled.sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted), 'base64url');
}

/** Hashes as a batch keeps them: without empty cells. @param isIgnored of a column that one hash over all leaves out */
export function keptHashes(cells: CellHashes, isIgnored: (column: string) => boolean): CellHashes | string {
  const filled = Object.entries(cells).filter(([, one]) => one !== '');
  if (filled.length <= MAX_HASHES) return Object.fromEntries(filled);
  return hashOfCells(Object.fromEntries(filled.filter(([column]) => !isIgnored(column))));
}

/**
 * Whether the cells of a record are those that were kept. Columns that the snapshot does not have today, and those that are ignored
 * today, do not count.
 *
 * @param now with the empty cells
 */
export function isSameState(kept: CellHashes | string, now: CellHashes): boolean {
  if (typeof kept === 'string') return kept === hashOfCells(now);
  const known = new Map(Object.entries(kept));
  return Object.entries(now).every(([column, one]) => (known.get(column) ?? '') === one);
}
