import type { UtcSeconds } from '../../core/brands.js';
import { maskOf, nameAndAncestors, selectionOf } from '../../core/column-selection.js';
import type { ColumnSettings, CsvSettings } from '../../core/settings.js';
import { typeNames } from '../../core/value-facts.js';
import { type Column, columnName } from './data-columns.js';
import type { Profile } from './profile.js';

/**
 * Settings that shaped cells, from a time on. A row's `_synced_at` is the time of the run that fetched its cells, so it
 * tells which settings they were written with first; every later change of settings was then applied to what they held.
 */
export interface Shape extends Pick<CsvSettings, 'nested' | 'separator'>, ColumnSettings {
  /** The `_synced_at` of the first rows that were written with these settings; `null`: of all rows before the next shape. */
  readonly since: UtcSeconds | null;
  /** Set if the settings are not known, so that a cell may hold anything: separators that may have flattened objects. */
  readonly unknown?: readonly string[];
  /** Set if only the rows that a rollback brought back have this shape: rows from before it were never written with it. */
  readonly isReturn?: true;
}

/**
 * What a cell that is not null holds: the value, a mask, or nothing, because the column was left out. `hash:` is followed
 * by the fingerprint of the secret, if there is one.
 */
export type CellState = 'value' | 'absent' | 'redact' | 'unknown' | `hash:${string}`;

/** Older shapes than this many are treated as unknown, so that a manifest stays small. */
const MAX_SHAPES = 20;
/** Bytes of all shapes, as JSON. */
const MAX_SHAPE_BYTES = 256 * 1024;

/** The shape of rows that are written with a profile. */
export function shapeOf({ csv, columns }: Profile, since: UtcSeconds | null): Shape {
  const { nested, separator } = csv;
  const { include, exclude, mask, maskedWith } = columns;
  return {
    ...{ since, nested, separator, include, exclude, mask },
    ...(maskedWith === undefined ? {} : { maskedWith }),
  };
}

/** Whether two shapes give equal cells. */
export function isSameShape(a: Shape, b: Shape): boolean {
  return signature(a) === signature(b);
}

function signature(shape: Shape): string {
  const { include, exclude, mask, maskedWith, unknown } = shape;
  const masks = Object.entries(mask).sort(([a], [b]) => (a < b ? -1 : 1));
  const sorted = (names: readonly string[] | null) => names && [...new Set(names)].sort();
  return JSON.stringify([
    splitOf(shape),
    sorted(include),
    sorted(exclude),
    masks,
    maskedWith ?? null,
    unknown ?? null,
  ]);
}

/**
 * The shapes of a snapshot whose base has `before`, written with the settings of `today`.
 *
 * @param before oldest first, at least one
 */
export function nextShapes(before: readonly Shape[], today: Shape): readonly Shape[] {
  if (isSameShape(before.at(-1)!, today)) return before;
  return withinLimits([...before, today]);
}

/**
 * The shapes of a snapshot that a rollback publishes. Rows that it does not change keep their shape. All others have the time
 * of the rollback, whether they are the target's or tombstones of rows that it does not have.
 *
 * @param before of the base snapshot, oldest first
 * @param target of the rollback's target, oldest first
 * @param today has the time of the rollback
 * @param after the first time that no row of the rollback has
 */
export function shapesAfterRollback(
  before: readonly Shape[],
  target: readonly Shape[],
  today: Shape,
  after: UtcSeconds,
): readonly Shape[] {
  const all = [...before, ...target];
  const [first, ...others] = all;
  const one = others.every((other) => isSameShape(first!, other)) ? first! : unknownShape(all);
  return withinLimits([
    ...before,
    { ...one, since: today.since, isReturn: true },
    { ...today, since: after },
  ]);
}

function withinLimits(all: readonly Shape[]): readonly Shape[] {
  let shapes = all;
  while (shapes.length > 2 && (shapes.length > MAX_SHAPES || JSON.stringify(shapes).length > MAX_SHAPE_BYTES))
    shapes = [unknownShape(shapes.slice(0, 2)), ...shapes.slice(2)];
  return shapes;
}

/** The shape of rows that may have any of several shapes. */
function unknownShape(shapes: readonly Shape[]): Shape {
  const settings = { nested: 'json', separator: '.', include: null, exclude: [], mask: {} } as const;
  return { since: null, ...settings, unknown: [...new Set(shapes.flatMap(splitsOf))] };
}

/** The separator in the names of columns; `null`: nested values have no separate columns. */
function splitOf({ nested, separator }: Shape): string | null {
  return nested === 'flatten' ? separator : null;
}

/** The separators that may have flattened objects in rows of a shape. */
function splitsOf({ nested, separator, unknown = [] }: Shape): readonly string[] {
  return nested === 'flatten' ? [separator] : unknown;
}

/** Position of the shape that a row was fetched with. @param shapes oldest first */
export function shapeAt(shapes: readonly Pick<Shape, 'since'>[], syncedAt: string): number {
  return shapes.findLastIndex(({ since }) => since === null || since <= syncedAt);
}

/** What today's settings make of the columns of rows that were fetched with one shape. */
export class Reshaping {
  readonly #origin: Shape;
  readonly #since: readonly Shape[];
  readonly #today: Shape;
  readonly #keys: ReadonlySet<string>;

  /**
   * @param shapes of the snapshot that holds the rows, oldest first
   * @param at position of the shape that the rows were fetched with
   */
  constructor(shapes: readonly Shape[], at: number, today: Shape, key: readonly string[]) {
    this.#origin = shapes[at]!;
    this.#since = shapes.filter((shape, n) => n === at || (n > at && shape.isReturn !== true));
    this.#today = today;
    this.#keys = new Set(key.map(columnName));
  }

  /** What the cells of a column hold now. */
  before(column: Pick<Column, 'name' | 'types'>): CellState {
    let state: CellState = this.#origin.unknown && !this.#keys.has(column.name) ? 'unknown' : 'value';
    for (const shape of this.#since) state = applied(state, this.#wanted(shape, column));
    return state;
  }

  /** What today's settings say that they hold. */
  wanted(column: Pick<Column, 'name' | 'types'>): CellState {
    return this.#wanted(this.#today, column);
  }

  /** What they hold once today's settings are applied to what there is. */
  after(column: Pick<Column, 'name' | 'types'>): CellState {
    return applied(this.before(column), this.wanted(column));
  }

  /**
   * What of these rows differs from today's settings and cannot be restored from the cells.
   *
   * @param columns data columns, and what is known about their values
   */
  lost(columns: readonly Column[]): Lost {
    const seen = new Map(columns.map((column) => [column.name, column]));
    const missing: string[] = [];
    const masked: string[] = [];
    for (const name of new Set([...seen.keys(), ...this.#named(), ANY_OTHER])) {
      const column = seen.get(name) ?? { name, types: 0 };
      const [after, wanted] = [this.after(column), this.wanted(column)];
      if (after === wanted || wanted === 'absent') continue;
      if (after === 'absent' || after === 'unknown') missing.push(name);
      // A column that never had a value has nothing to restore.
      else if (hasValues(column)) masked.push(name);
    }
    const isSplitAsToday = splitOf(this.#origin) === splitOf(this.#today);
    const split = isSplitAsToday ? { objects: [], flattened: [] } : this.#splitColumns(columns);
    return { missing, masked, ...split };
  }

  /** All names in the settings. */
  #named(): string[] {
    return [...this.#since, this.#today].flatMap(({ include, exclude }) => [...(include ?? []), ...exclude]);
  }

  /** Columns that hold objects as JSON text, and columns of flattened objects. */
  #splitColumns(columns: readonly Column[]): Pick<Lost, 'objects' | 'flattened'> {
    const { nested, separator } = this.#origin;
    if (nested === 'flatten') {
      const named = this.#named().filter((name) => name.includes(separator));
      const names = columns.map(({ name }) => name).filter((name) => name.includes(separator));
      return { objects: [], flattened: [...new Set([...names, ...named])] };
    }
    const objects = columns.filter(holdsObjects).map(({ name }) => name);
    // The values of an object that is left out or masked as a whole would be in separate columns.
    const seen = new Map(columns.map(({ name, types }) => [name, types]));
    const flattened = columns.filter((column) => {
      const parents = nameAndAncestors(this.#today, column.name).slice(1);
      const isOpen = parents.every((name) => this.after({ name, types: seen.get(name) ?? 0 }) === 'value');
      return parents.length > 0 && !isOpen && this.wanted(column) !== 'absent';
    });
    return { objects, flattened: flattened.map(({ name }) => name) };
  }

  /** What a shape says about a column of these rows. Nested values may be in other columns than the shape's own. */
  #wanted(shape: Shape, { name, types }: Pick<Column, 'name' | 'types'>): CellState {
    const names = namesIn(shape, this.#origin, name);
    if (!this.#keys.has(name) && !isKept(shape, names)) return 'absent';
    const mask = maskOf(shape, names);
    if (mask === 'hash') return `hash:${shape.maskedWith ?? ''}`;
    if (mask === 'redact') return 'redact';
    // JSON text holds values that the shape hides in a separate column.
    return this.#origin.nested === 'json' && holdsObjects({ types }) && hidesPartOf(shape, name)
      ? 'redact'
      : 'value';
  }
}

/** What a shape keeps, for the many columns that it is asked about. */
const selections = new WeakMap<Shape, ReturnType<typeof selectionOf>>();

function isKept(shape: Shape, names: readonly string[]): boolean {
  const known = selections.get(shape) ?? selectionOf(shape);
  selections.set(shape, known);
  return known(names);
}

/** What cannot be restored of rows. All are names of columns or of fields. */
export interface Lost {
  /** Empty, because the column was left out when the rows were fetched. */
  readonly missing: readonly string[];
  /** Masked, and now another mask or none is wanted. */
  readonly masked: readonly string[];
  /** Objects as JSON text, which are flattened now. */
  readonly objects: readonly string[];
  /** Flattened objects, which are JSON text or have other names now. */
  readonly flattened: readonly string[];
}

/** Stands for every name that is in no list. No field has this name. */
const ANY_OTHER = '\0';

/** What a cell holds after a change of settings that is applied to the cell itself. No hash is hashed again. */
function applied(state: CellState, wanted: CellState): CellState {
  if (state === 'absent' || wanted === 'absent') return 'absent';
  if (state === 'value' || wanted === 'redact') return wanted;
  // It may be a hash, or the value itself, which must not show.
  return state === 'unknown' && wanted.startsWith('hash:') ? 'redact' : state;
}

/** What a change of settings means for the rows of a snapshot. */
export interface SettingsChange {
  /** Whether some cells can only be restored by reading the records again. */
  readonly mustRead: boolean;
  /** Columns whose values were there to see, and are left out or masked from now on. */
  readonly hidden: readonly string[];
}

/**
 * Compares the settings of a snapshot with today's.
 *
 * @param shapes of the snapshot, oldest first
 * @param columns its data columns
 */
export function settingsChange(
  shapes: readonly Shape[],
  today: Shape,
  { columns, key }: { readonly columns: readonly Column[]; readonly key: readonly string[] },
): SettingsChange {
  const last = shapes.at(-1)!;
  const hidden = new Set<string>();
  let mustRead = false;
  for (const at of shapes.keys()) {
    const now = new Reshaping(shapes, at, today, key);
    const before = new Reshaping(shapes, at, last, key);
    const [lost, known] = [now.lost(columns), before.lost(columns)];
    const types = new Map(columns.map((column) => [column.name, column.types]));
    const isNew = (kind: 'missing' | 'masked') => (name: string) => {
      const column = { name, types: types.get(name) ?? 0 };
      return !known[kind].includes(name) || before.wanted(column) !== now.wanted(column);
    };
    const isSplit = lost.objects.length + lost.flattened.length > 0;
    mustRead ||=
      lost.missing.some(isNew('missing')) ||
      lost.masked.some(isNew('masked')) ||
      (isSplit && (last.nested !== today.nested || last.separator !== today.separator));
    for (const column of columns)
      if (hasValues(column) && now.before(column) === 'value' && now.wanted(column) !== 'value')
        hidden.add(column.name);
  }
  return { mustRead, hidden: [...hidden] };
}

/**
 * The columns where some rows of a snapshot hold masks, even where today's settings do not mask the column itself:
 * masks that cannot be taken back, and masks of an object whose values are in separate columns.
 */
export function columnsWithMasks(
  shapes: readonly Shape[],
  today: Shape,
  { columns, key }: { readonly columns: readonly Column[]; readonly key: readonly string[] },
): string[] {
  if (shapes.length === 1 && isSameShape(shapes[0]!, today)) return [];
  const all = shapes.map((_, at) => new Reshaping(shapes, at, today, key));
  const isMask = (state: CellState): boolean => state === 'redact' || state.startsWith('hash:');
  return columns.filter((column) => all.some((one) => isMask(one.after(column)))).map(({ name }) => name);
}

function hasValues({ types }: Pick<Column, 'types'>): boolean {
  return typeNames(types).some((type) => type !== 'null');
}

/** The names that a shape's settings may use for a column, the most specific first. */
function namesIn(shape: Shape, origin: Shape, name: string): string[] {
  const names = nameAndAncestors(shape, name);
  const isFlat = shape.nested === 'flatten';
  for (const split of splitsOf(origin)) {
    if (!name.includes(split) || (isFlat && shape.separator === split)) continue;
    const path = name.split(split);
    if (!isFlat) names.push(path[0]!);
    else names.push(...path.map((_, at) => path.slice(0, path.length - at).join(shape.separator)));
  }
  return names;
}

function holdsObjects({ types }: Pick<Column, 'types'>): boolean {
  return typeNames(types).includes('object');
}

/** Whether a shape that flattens objects leaves out or masks some value inside the field `name`. */
function hidesPartOf({ nested, separator, include, exclude, mask }: Shape, name: string): boolean {
  if (nested !== 'flatten') return false;
  const inside = (one: string): boolean => one.startsWith(`${name}${separator}`);
  const isWhole = include === null || include.includes(name);
  return !isWhole || exclude.some(inside) || Object.keys(mask).some(inside);
}
