import { type ByteString, type RunId, toByteString } from '../../core/brands.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import { type Cell, readRow, writeRows } from '../rows/csv.js';
import { cellDecoder } from '../rows/escaping.js';
import { cellRule, isWanted, maskedColumns, type Profile } from '../rows/profile.js';
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
 * Masked values cannot be restored and stay as they are.
 *
 * @param runId becomes the `_run_id` of each row that has a new value; `null` keeps it
 */
export function adaptRows(
  written: Written,
  today: { readonly columns: readonly Column[]; readonly profile: Profile; readonly fingerprint: string },
  runId: RunId | null = null,
): ((row: ByteString) => ByteString) | null {
  const missing = today.columns.length - written.columns;
  if (written.fingerprint !== today.fingerprint)
    return rewriter(written.profile, today.columns, today.profile, runId);
  if (missing === 0) return null;
  const tail = `${today.profile.csv.delimiter.repeat(missing)}\n`;
  return (row) => (row.slice(0, -1) + tail) as ByteString;
}

function rewriter(
  before: Profile,
  columns: readonly Column[],
  profile: Profile,
  runId: RunId | null,
): (row: ByteString) => ByteString {
  const wanted = isWanted(profile);
  const decode = cellDecoder(before.csv) ?? keep;
  const names = columns.map(({ name }) => name);
  const masked = new Set(maskedColumns(before, names));
  const rules = names.map((name) => {
    if (!wanted(name)) return drop;
    const rule = cellRule(profile, name);
    if (!masked.has(name)) return (cell: ByteString): Cell => (rule ?? keep)(decode(cell));
    return profile.columns.mask[name] === 'redact' ? (rule ?? keep) : keep;
  });
  return (row) => {
    const cells: Cell[] = readRow(row, before.csv.delimiter);
    const offset = META_COLUMNS.length;
    let isRestated = false;
    for (const [at, rule] of rules.entries()) {
      const cell = cells[offset + at];
      const written = cell === null || cell === undefined ? null : rule(cell);
      if (cell !== undefined && written !== cell) {
        if (at < profile.key.length) throw keyChanged(profile);
        isRestated = true;
      }
      cells[offset + at] = written;
    }
    if (isRestated && runId !== null) cells[0] = toByteString(runId);
    return writeRows([cells], profile.csv.delimiter);
  };
}

/** Rows are found by the text of their key, so other escapes must not change it. */
function keyChanged({ key }: Profile): ConfigurationError {
  return new ConfigurationError(
    `a value of the key (${key.join(', ')}) has a backslash or a line break, or begins like a formula, so \`csv.lineBreaks\` or ` +
      '`csv.escapeFormulas` cannot change for the rows that are in the lake. Nothing was published.',
    { remedy: 'Restore the setting, or give the connection a new lake URL to start with an empty lake.' },
  );
}

const keep = (cell: ByteString): ByteString => cell;
const drop = (): Cell => null;
