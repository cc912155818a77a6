import { type ByteString, fromByteString, toByteString } from '../../core/brands.js';
import { ConfigurationError } from '../../core/errors.js';
import type { SchemaChange } from '../../core/schema-changes.js';
import type { CsvSettings } from '../../core/settings.js';
import {
  addFacts,
  Format,
  JsonType,
  type MutableFacts,
  noFacts,
  typeNames,
  type ValueFacts,
} from '../../core/value-facts.js';
import { writeRows } from './csv.js';
import { escapeLineBreaks } from './escaping.js';

/** The metadata columns at the start of every row, in order (docs/explanation/guarantees.md#header). */
export const META_COLUMNS = ['_run_id', '_synced_at', '_deleted_at'] as const;

/** A data column, as recorded in the manifest. */
export interface Column {
  /** Name in the header: the field's name, with a suffix if it collides with a metadata column. */
  readonly name: string;
  /** Bits of the JSON types seen in all runs. */
  readonly types: number;
  /** What is known about the values of all runs. */
  readonly values: ValueFacts;
}

/**
 * Name of a field's column. A field with the name of a metadata column gets the suffix `__field`
 * (docs/explanation/guarantees.md#values). A name that already has the suffix gets another one, so names stay unique.
 */
export function columnName(field: string): string {
  return /^_(?:run_id|synced_at|deleted_at)(?:__field)*$/.test(field) ? `${field}__field` : field;
}

/** The field of a column: the reverse of `columnName`. */
export function fieldOfColumn(column: string): string {
  return /^_(?:run_id|synced_at|deleted_at)(?:__field)+$/.test(column)
    ? column.slice(0, -'__field'.length)
    : column;
}

/**
 * The most data columns of a resource. At this width, a page takes seconds to read and a manifest has about a megabyte.
 * More columns are probably a mistake, such as flattened objects whose field names are record ids.
 */
export const MAX_COLUMNS = 10_000;

/** The most field names in the lookup cache. */
const MAX_CACHED_FIELDS = 4 * MAX_COLUMNS;

/** A list has more fields than a resource may have columns. The message omits their names, which may be record content. */
export class TooManyColumnsError extends ConfigurationError {
  constructor() {
    super(`its records have more than ${MAX_COLUMNS} different fields, which is the limit for a resource`);
  }
}

/**
 * The data columns of one resource: first the key columns, then columns of earlier runs, then new columns of this run
 * (docs/explanation/guarantees.md#header). Columns are only added, at the end. Metadata columns are not included.
 */
export class ColumnSet {
  readonly types: number[] = [];
  readonly facts: MutableFacts[] = [];
  readonly #names: string[] = [];
  readonly #byName = new Map<string, number>();
  readonly #byField = new Map<ByteString, number>();
  readonly #wanted: (name: string) => boolean;

  /** @param wanted whether a column is written to the lake. Key columns always are. */
  constructor(
    key: readonly string[],
    known: readonly Column[],
    wanted: (name: string) => boolean = () => true,
  ) {
    this.#wanted = wanted;
    for (const field of key) this.#add(columnName(field), 0);
    for (const { name, types, values } of known) {
      const at = this.#byName.get(name) ?? this.#add(name, 0);
      this.types[at]! |= types;
      addFacts(this.facts[at]!, values);
    }
  }

  #add(name: string, types: number): number {
    const at = this.#names.push(name) - 1;
    this.#byName.set(name, at);
    this.types.push(types);
    this.facts.push(noFacts());
    return at;
  }

  get size(): number {
    return this.#names.length;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /**
   * Position of a field's column; -1 for a field that is not written to the lake.
   *
   * @throws TooManyColumnsError for a new column beyond `MAX_COLUMNS`. Columns of the base snapshot are always kept.
   */
  columnOf(field: ByteString): number {
    const known = this.#byField.get(field);
    if (known !== undefined) return known;
    const name = columnName(fromByteString(field));
    const at = this.#wanted(name) ? this.#indexOf(name) : -1;
    // The number of excluded fields is not bounded, because flattened names can contain record ids.
    if (this.#byField.size >= MAX_CACHED_FIELDS) this.#byField.clear();
    this.#byField.set(field, at);
    return at;
  }

  #indexOf(name: string): number {
    const at = this.#byName.get(name);
    if (at !== undefined) return at;
    if (this.#names.length >= MAX_COLUMNS) throw new TooManyColumnsError();
    return this.#add(name, 0);
  }

  toColumns(): Column[] {
    return this.#names.map((name, at) => ({
      name,
      types: this.types[at]!,
      values: { ...this.facts[at]! },
    }));
  }
}

/** The columns, with the note that some hold text whatever the service's values are, because these are masked. */
export function withText(columns: readonly Column[], names: readonly string[]): Column[] {
  const masked = new Set(names);
  return columns.map((column) =>
    masked.has(column.name)
      ? { ...column, values: { ...column.values, formats: column.values.formats | Format.text } }
      : column,
  );
}

/** The header's cells: metadata columns, then data columns. */
export function headerCells(columns: readonly Pick<Column, 'name'>[]): ByteString[] {
  return [...META_COLUMNS, ...columns.map((column) => column.name)].map(toByteString);
}

/** The schema changes of a run: new columns, and new types of existing columns. */
export function schemaChanges(before: readonly Column[], after: readonly Column[]): SchemaChange[] {
  return after.flatMap(({ name, types }, at): SchemaChange[] => {
    const known = before[at];
    if (known === undefined) return [{ name, had: null, added: typeNames(types) }];
    // The first value after only nulls sets the type of a column. It does not change it.
    const had = known.types & ~JsonType.null;
    // A whole number among decimals is one of them, so it is no new type.
    const same = JsonType.null | ((had & JsonType.number) === 0 ? 0 : JsonType.integer);
    const added = types & ~known.types & ~same;
    return had !== 0 && added !== 0 ? [{ name, had: typeNames(had), added: typeNames(added) }] : [];
  });
}

type HeaderFormat = Pick<CsvSettings, 'delimiter' | 'lineBreaks'>;

/** The header row with its LF: metadata columns, then data columns (docs/explanation/guarantees.md#header). */
export function headerRow(columns: readonly Column[], csv: HeaderFormat): ByteString {
  return writeRows([cellsOf(columns, csv)], csv.delimiter);
}

/** The names in the header as text. */
export function headerNames(columns: readonly Pick<Column, 'name'>[], csv: HeaderFormat): string[] {
  return cellsOf(columns, csv).map(fromByteString);
}

function cellsOf(columns: readonly Pick<Column, 'name'>[], { lineBreaks }: HeaderFormat): ByteString[] {
  const cells = headerCells(columns);
  return lineBreaks === 'escape' ? cells.map(escapeLineBreaks) : cells;
}
