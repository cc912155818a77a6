import type { ByteString } from '../../core/brands.js';
import { type Cell, readRow, writeRows } from '../rows/csv.js';
import { cellRule, isWanted, type Profile } from '../rows/profile.js';
import { type Column, META_COLUMNS } from '../rows/schema.js';

/** The header width and profile that a part's rows were written with. */
export interface Written {
  readonly columns: number;
  readonly profile: Profile;
  readonly fingerprint: string;
}

/**
 * Returns a function that converts a part's rows to the current header and profile; `null` if they need no conversion.
 * Each column added since then appends one delimiter. With another profile, every cell is read and written again.
 * Masked or escaped values cannot be restored and stay as they are.
 */
export function adaptRows(
  written: Written,
  today: { readonly columns: readonly Column[]; readonly profile: Profile; readonly fingerprint: string },
): ((row: ByteString) => ByteString) | null {
  const missing = today.columns.length - written.columns;
  if (written.fingerprint !== today.fingerprint)
    return rewriter(written.profile, today.columns, today.profile);
  if (missing === 0) return null;
  const tail = `${today.profile.csv.delimiter.repeat(missing)}\n`;
  return (row) => (row.slice(0, -1) + tail) as ByteString;
}

function rewriter(
  before: Profile,
  columns: readonly Column[],
  profile: Profile,
): (row: ByteString) => ByteString {
  const wanted = isWanted(profile);
  const rules = columns.map((column) =>
    wanted(column.name) ? (cellRule(profile, column.name, before) ?? keep) : drop,
  );
  return (row) => {
    const cells: Cell[] = readRow(row, before.csv.delimiter);
    const offset = META_COLUMNS.length;
    for (const [at, rule] of rules.entries()) {
      const cell = cells[offset + at];
      cells[offset + at] = cell === null || cell === undefined ? null : rule(cell);
    }
    return writeRows([cells], profile.csv.delimiter);
  };
}

const keep = (cell: ByteString): Cell => cell;
const drop = (): Cell => null;
