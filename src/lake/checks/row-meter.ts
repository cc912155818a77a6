import { type ByteString, toByteString } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { compareWith, type DecimalLimit, decimalLimit } from '../../core/decimal.js';
import type { CsvSettings } from '../../core/settings.js';
import type { Figures } from '../documents/check-record.js';
import { cellEnd, readCell } from '../rows/csv.js';
import { columnName } from '../rows/data-columns.js';
import { cellDecoder } from '../rows/escaping.js';
import { isTombstone, payloadAt } from '../rows/row.js';
import { type CountRule, later, type Measure } from './check-plan.js';

/** How the rows are written. */
export interface RowForm {
  /** Names of the data columns. */
  readonly names: readonly string[];
  readonly csv: Pick<CsvSettings, 'delimiter' | 'lineBreaks' | 'escapeFormulas'>;
}

type Value = ByteString | null;
/** Notes the value of an added (1) or a removed (-1) row. */
type Note = (value: Value, sign: 1 | -1) => void;

/** Follows which rows of the snapshot change, for checks before publish (docs/how-to/checks.md). */
export interface RowObserver {
  /** A row of the base snapshot becomes another row; `null`: there was none, or there is none any more. */
  changed(before: ByteString | null, after: ByteString | null): void;
  /** The run read the record; `row` is its row in the new snapshot. */
  fetched(row: ByteString): void;
}

/** A field whose values in added rows are collected, except nulls. */
export interface CollectedField {
  readonly field: string;
  readonly values: { add(value: ByteString): void };
}

/** Position of a field's column; -1 for none. */
export function columnOf(names: readonly string[], field: string): number {
  const at = names.indexOf(columnName(field));
  return at === -1 ? names.indexOf(field) : at;
}

/**
 * Measures rows, and takes measured rows back: the figures of a snapshot follow from those of the one before and from the rows
 * that changed. Tombstones have no part in it. A column that does not exist has only nulls.
 */
export class RowMeter {
  readonly #delimiter: string;
  readonly #decode: ((cell: ByteString) => ByteString) | null;
  /** What to do with the cells of a column, in the order of the columns. */
  readonly #columns: { readonly column: number; readonly notes: Note[] }[] = [];
  /** Measures that count each live row: the number of rows, and nulls in columns that do not exist. */
  readonly #ofEachRow: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #newest = new Map<string, { added: number | null; removed: number | null }>();

  constructor(measures: readonly Measure[], fields: readonly CollectedField[], { names, csv }: RowForm) {
    this.#delimiter = csv.delimiter;
    this.#decode = cellDecoder(csv);
    const notes = new Map<number, Note[]>();
    const note = (field: string, one: Note): void => {
      const column = columnOf(names, field);
      notes.set(column, [...(notes.get(column) ?? []), one]);
    };
    for (const { id, rule } of measures) {
      if (rule.kind === 'newest') {
        const times = { added: null as number | null, removed: null as number | null };
        this.#newest.set(id, times);
        note(rule.field, noteTime(times));
        continue;
      }
      this.#counts.set(id, 0);
      const isOfEachRow =
        rule.kind === 'live' || (rule.kind === 'nulls' && columnOf(names, rule.field) === -1);
      if (isOfEachRow) this.#ofEachRow.push(id);
      else note(rule.field, this.#counter(id, rule));
    }
    for (const { field, values } of fields)
      note(field, (value, sign) => {
        if (value !== null && sign === 1) values.add(value);
      });
    notes.delete(-1);
    for (const [column, all] of [...notes].sort(([a], [b]) => a - b))
      this.#columns.push({ column, notes: all });
  }

  #counter(id: string, rule: CountRule): Note {
    const breaks = probeOf(rule);
    return (value, sign) => {
      if (breaks(value)) this.#count(id, sign);
    };
  }

  #count(id: string, by: number): void {
    this.#counts.set(id, this.#counts.get(id)! + by);
  }

  add(row: ByteString): void {
    this.#visit(row, 1);
  }

  /** Takes back a row that was measured before. */
  remove(row: ByteString): void {
    this.#visit(row, -1);
  }

  #visit(row: ByteString, sign: 1 | -1): void {
    if (isTombstone(row)) return;
    for (const id of this.#ofEachRow) this.#count(id, sign);
    const delimiter = this.#delimiter;
    let at = payloadAt(row);
    let next = 0;
    for (const { column, notes } of this.#columns) {
      for (; next < column; next++) at = cellEnd(row, at, delimiter) + 1;
      const end = cellEnd(row, at, delimiter);
      const cell = end <= at ? null : readCell(row.slice(at, end));
      const value = cell === null || this.#decode === null ? cell : this.#decode(cell);
      for (const note of notes) note(value, sign);
      at = end + 1;
      next++;
    }
  }

  /**
   * The figures of the rows before and of what was added and removed since.
   *
   * @returns `null` if that is not known: the row with the newest time is gone, and another one may have the same time
   */
  figures(before: Figures | null): Figures | null {
    const found: Record<string, number | null> = {};
    for (const [id, count] of this.#counts) found[id] = (before?.[id] ?? 0) + count;
    for (const [id, { added, removed }] of this.#newest) {
      const known = before?.[id] ?? null;
      const newest = later(known, added);
      if (removed !== null && removed === known && (added === null || added < known)) return null;
      found[id] = newest;
    }
    return found;
  }
}

/** Notes the latest moment that a value can mean: a date without a zone can be a day later somewhere. */
function noteTime(times: { added: number | null; removed: number | null }): Note {
  return (value, sign) => {
    const at = value === null ? null : (dateSpan(value)?.to ?? null);
    if (at === null) return;
    if (sign === 1) times.added = later(times.added, at);
    else times.removed = later(times.removed, at);
  };
}

/** Whether a value breaks a rule. `null` is a null. */
type Probe = (value: ByteString | null) => boolean;

/** The probe of a measure that counts. */
function probeOf(rule: CountRule): Probe {
  switch (rule.kind) {
    case 'nulls':
      return (value) => value === null;
    case 'undated':
      return (value) => value !== null && dateSpan(value) === null;
    case 'others':
      return remembering(notOneOf(rule.values));
    case 'outside':
      return outside(limitOf(rule.min), limitOf(rule.max));
  }
}

function limitOf(text: string | null): DecimalLimit | null {
  return text === null ? null : decimalLimit(text);
}

/** A value that is no number is in no range. */
function outside(min: DecimalLimit | null, max: DecimalLimit | null): Probe {
  return (value) => {
    if (value === null) return false;
    if (min !== null) {
      const order = compareWith(value, min);
      if (order === null || order < 0) return true;
    }
    if (max === null) return false;
    const order = compareWith(value, max);
    return order === null || order > 0;
  };
}

/** CSV has no types, so a number in the list allows every text of that number, such as `1` and `1.0`. */
function notOneOf(values: readonly (string | number)[]): Probe {
  const texts = new Set(values.map((value) => toByteString(String(value))));
  const numbers = values
    .filter((value) => typeof value === 'number')
    .map((value) => decimalLimit(String(value)));
  return (value) =>
    value !== null && !texts.has(value) && !numbers.some((number) => compareWith(value, number) === 0);
}

const MAX_REMEMBERED = 1000;

/** Few values repeat in most rows. */
function remembering(probe: Probe): Probe {
  const known = new Map<ByteString, boolean>();
  return (value) => {
    if (value === null) return false;
    const before = known.get(value);
    if (before !== undefined) return before;
    const breaks = probe(value);
    if (known.size < MAX_REMEMBERED) known.set(value, breaks);
    return breaks;
  };
}
