import { type ByteString, type RunId, toByteString } from '../../core/brands.js';
import { ConfigurationError } from '../../core/errors.js';
import { type Cell, readRow, writeRows } from '../rows/csv.js';
import { type Column, META_COLUMNS } from '../rows/data-columns.js';
import { cellDecoder, cellEncoder } from '../rows/escaping.js';
import { maskRule, type Profile } from '../rows/profile.js';
import { syncedAtOf } from '../rows/row.js';
import { Reshaping, type Shape, shapeAt, shapeOf } from '../rows/shapes.js';

/** The header width and the settings that a part's rows were written with. */
export interface Written {
  readonly columns: number;
  readonly profile: Profile;
  readonly fingerprint: string;
  /** What shaped the rows of its snapshot or change log, oldest first. */
  readonly shapes: readonly Shape[];
}

/** Today's header and settings. */
export interface Today {
  readonly columns: readonly Column[];
  readonly profile: Profile;
  readonly fingerprint: string;
}

/**
 * Returns a function that converts a part's rows to the current header and profile; `null` if they need no conversion.
 * Each column added since then appends one delimiter. With another profile, every cell is read and written again.
 * Masked values cannot be restored and stay as they are; a hash is never hashed again.
 *
 * @param runId becomes the `_run_id` of each row that has a new value; `null` keeps it
 */
export function adaptRows(
  written: Written,
  today: Today,
  runId: RunId | null = null,
): ((row: ByteString) => ByteString) | null {
  const missing = today.columns.length - written.columns;
  if (written.fingerprint !== today.fingerprint) return rewriter(written, today, runId);
  if (missing === 0) return null;
  const tail = `${today.profile.csv.delimiter.repeat(missing)}\n`;
  return (row) => (row.slice(0, -1) + tail) as ByteString;
}

type Convert = (cell: ByteString) => ByteString | null;

function rewriter(
  { profile: before, shapes }: Written,
  { columns, profile }: Today,
  runId: RunId | null,
): (row: ByteString) => ByteString {
  const decode = cellDecoder(before.csv) ?? keep;
  const shape = shapeOf(profile, null);
  const rules = shapes.map((_, at) => {
    const reshaping = new Reshaping(shapes, at, shape, profile.key);
    return columns.map((column) => converter(reshaping, column, decode, profile));
  });
  return (row) => {
    const cells: Cell[] = readRow(row, before.csv.delimiter);
    const offset = META_COLUMNS.length;
    let isRestated = false;
    for (const [at, rule] of rules[shapeAt(shapes, syncedAtOf(row))]!.entries()) {
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

/** What today's settings make of the cells of a column. */
function converter(reshaping: Reshaping, column: Column, decode: Convert, profile: Profile): Convert {
  const [before, after] = [reshaping.before(column), reshaping.after(column)];
  if (after === 'absent') return drop;
  if (before !== 'value' && before !== 'unknown')
    return after === before ? keep : maskRule(profile, 'redact');
  if (after === 'redact') return maskRule(profile, 'redact');
  const convert = after.startsWith('hash:') ? maskRule(profile, 'hash') : (cellEncoder(profile.csv) ?? keep);
  return (cell) => {
    const value = decode(cell);
    return value === null ? null : convert(value);
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
const drop = (): null => null;
