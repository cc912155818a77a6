import { type ByteString, type RunId, toByteString } from '../../core/brands.js';
import { nameAndAncestors } from '../../core/column-selection.js';
import { ConfigurationError } from '../../core/errors.js';
import { type Cell, readRow, writeRows } from '../../lake/rows/csv.js';
import { type Column, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { cellDecoder, cellEncoder } from '../../lake/rows/escaping.js';
import { maskRule, type Profile, type ReadyProfile } from '../../lake/rows/profile.js';
import { isTombstone, syncedAtOf } from '../../lake/rows/row.js';
import {
  type CellState,
  isSameShape,
  Reshaping,
  type Shape,
  shapeAt,
  shapeOf,
} from '../../lake/rows/shapes.js';

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
  readonly profile: ReadyProfile;
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
function converter(reshaping: Reshaping, column: Column, decode: Convert, profile: ReadyProfile): Convert {
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

/** Judges the rows of a base snapshot that cells of earlier settings may be left in. */
export interface Restorable {
  /** Whether a row that was not fetched again has cells that differ from what today's settings say, or may differ. */
  readonly isLost: (row: ByteString) => boolean;
  /** Whether a fetched row differs from the row before only in cells that earlier settings had left out or masked. */
  readonly isRestored: (before: ByteString, fetched: ByteString) => boolean;
}

/**
 * @param shapes of the base snapshot, oldest first
 * @param columns today's data columns
 * @returns `null` if all cells of the snapshot are, or become, as today's settings say
 */
export function restorable(
  shapes: readonly Shape[],
  profile: Profile,
  columns: readonly Column[],
): Restorable | null {
  const today = shapeOf(profile, null);
  // The common case: nothing has changed, or everything was restored.
  if (shapes.length === 1 && isSameShape(shapes[0]!, today)) return null;
  const rules = shapes.map((_, at) =>
    rulesOf(new Reshaping(shapes, at, today, profile.key), profile, columns),
  );
  if (rules.every((one) => one === null)) return null;
  const { delimiter } = profile.csv;
  const rulesFor = (row: ByteString): Rules | null => rules[shapeAt(shapes, syncedAtOf(row))]!;
  const offset = META_COLUMNS.length;
  return {
    isLost(row) {
      const found = rulesFor(row);
      if (found === null || found.always) return found !== null;
      const cells = readRow(row, delimiter);
      return found.checks.some(({ at, isLost }) => {
        const cell = cells[offset + at] ?? null;
        return cell !== null && isLost(cell);
      });
    },
    isRestored(before, fetched) {
      const found = rulesFor(before);
      // Of an unknown shape, each cell may be another because the record has changed.
      const isUnknown = shapes[shapeAt(shapes, syncedAtOf(before))]!.unknown !== undefined;
      if (found === null || isUnknown || isTombstone(before)) return false;
      const [a, b] = [readRow(before, delimiter), readRow(fetched, delimiter)];
      return columns.every(
        (_, at) => found.open.has(at) || (a[offset + at] ?? null) === (b[offset + at] ?? null),
      );
    },
  };
}

/** What may be wrong in rows that were fetched with the same settings. */
interface Rules {
  /** Whether it shows in no cell, because a value is missing. */
  readonly always: boolean;
  /** Columns where a cell shows it. */
  readonly checks: readonly { readonly at: number; readonly isLost: (cell: ByteString) => boolean }[];
  /** Positions of the columns that a new reading restores. */
  readonly open: ReadonlySet<number>;
}

function rulesOf(reshaping: Reshaping, { csv }: Profile, columns: readonly Column[]): Rules | null {
  const { missing, masked, objects, flattened } = reshaping.lost(columns);
  if (missing.length + masked.length + objects.length + flattened.length === 0) return null;
  const isOpen = new Set([...missing, ...masked, ...objects, ...flattened]);
  const isSplit = objects.length + flattened.length > 0;
  const open = new Set<number>();
  const checks: { at: number; isLost: (cell: ByteString) => boolean }[] = [];
  for (const [at, column] of columns.entries()) {
    const { name } = column;
    const isInside = isSplit && nameAndAncestors(csv, name).some((one, n) => n > 0 && isOpen.has(one));
    const isAround = isSplit && flattened.some((one) => one.startsWith(name));
    if (isOpen.has(name) || isInside || isAround) open.add(at);
    if (objects.includes(name)) checks.push({ at, isLost: objectCheck(reshaping.after(column)) });
    else if (masked.includes(name)) checks.push({ at, isLost: () => true });
  }
  return { always: missing.length + flattened.length > 0, checks, open };
}

/** An object without fields is kept as one cell where objects are flattened. */
function objectCheck(state: CellState): (cell: ByteString) => boolean {
  return state === 'value' ? (cell) => /^\{\s*[^}\s]/.test(cell) : () => true;
}
