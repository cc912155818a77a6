import type { ByteString } from '../../core/brands.js';
import { readRow } from '../rows/csv.js';
import { type Column, META_COLUMNS } from '../rows/data-columns.js';
import { nameAndAncestors, type Profile } from '../rows/profile.js';
import { isTombstone, syncedAtOf } from '../rows/row.js';
import { type CellState, isSameShape, Reshaping, type Shape, shapeAt, shapeOf } from '../rows/shapes.js';

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
