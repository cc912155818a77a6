import type { ByteString } from '../core/brands.js';
import { fromByteString, toByteString } from '../core/brands.js';

/** The columns that we add in front of every row, in order (DESIGN 3.9). */
export const META_COLUMNS = ['_run_id', '_synced_at', '_deleted_at'] as const;

/** JSON types in the order of their bits. */
export const TYPE_NAMES = ['null', 'boolean', 'integer', 'number', 'string', 'object', 'array'] as const;
export type TypeName = (typeof TYPE_NAMES)[number];

/** A data column as the manifest keeps it. */
export interface Column {
  /** In the header: the field's name as the service writes it, but for clashes with our own columns. */
  readonly name: string;
  /** Bits of the JSON types seen in it, over all runs. */
  readonly types: number;
}

export function typeNames(bits: number): TypeName[] {
  return TYPE_NAMES.filter((_, bit) => (bits & (1 << bit)) !== 0);
}

export function typeBits(names: readonly string[]): number {
  return TYPE_NAMES.reduce((bits, name, bit) => (names.includes(name) ? bits | (1 << bit) : bits), 0);
}

/**
 * Name of a field's column: one that is called like ours gets a suffix (DESIGN 3.8), and so does one that is called
 * like that already, so that no two fields share a column.
 */
export function columnName(field: string): string {
  return /^_(?:run_id|synced_at|deleted_at)(?:__field)*$/.test(field) ? `${field}__field` : field;
}

/**
 * The data columns of one resource, in the order first seen and only ever growing: the key, then what earlier runs
 * saw, then what this one meets (DESIGN 3.9). Metadata columns are not among them.
 */
export class ColumnSet {
  readonly types: number[] = [];
  readonly #names: string[] = [];
  readonly #byField = new Map<ByteString, number>();
  readonly #wanted: (name: string) => boolean;

  /** @param wanted whether a column may reach the lake; key columns always may. */
  constructor(
    key: readonly string[],
    known: readonly Column[],
    wanted: (name: string) => boolean = () => true,
  ) {
    this.#wanted = wanted;
    for (const field of key) this.#add(columnName(field), 0);
    for (const column of known) {
      const at = this.#names.indexOf(column.name);
      if (at === -1) this.#add(column.name, column.types);
      else this.types[at]! |= column.types;
    }
  }

  #add(name: string, types: number): number {
    const at = this.#names.push(name) - 1;
    this.types.push(types);
    return at;
  }

  get size(): number {
    return this.#names.length;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** The column of a field of the service; -1 for one that must not reach the lake. */
  columnOf(field: ByteString): number {
    const known = this.#byField.get(field);
    if (known !== undefined) return known;
    const name = columnName(fromByteString(field));
    const at = this.#wanted(name) ? this.#indexOf(name) : -1;
    this.#byField.set(field, at);
    return at;
  }

  #indexOf(name: string): number {
    const at = this.#names.indexOf(name);
    return at === -1 ? this.#add(name, 0) : at;
  }

  toColumns(): Column[] {
    return this.#names.map((name, at) => ({ name, types: this.types[at] ?? 0 }));
  }
}

/** The header's cells as byte strings: metadata, then data columns. */
export function headerCells(columns: readonly Column[]): ByteString[] {
  return [...META_COLUMNS, ...columns.map((column) => column.name)].map(toByteString);
}

/** What a run has found that was not there before, in words: new columns, and types that a column did not have. */
export function schemaChanges(before: readonly Column[], after: readonly Column[]): string[] {
  const changes: string[] = [];
  for (const [at, { name, types }] of after.entries()) {
    const known = before[at];
    if (known === undefined) {
      changes.push(`new column "${name}" (${typeNames(types).join(', ') || 'no values'})`);
      continue;
    }
    // The first values of a column that had only nulls tell its type; they do not change it.
    const had = known.types & ~NULL_BIT;
    const added = types & ~known.types & ~NULL_BIT;
    if (had !== 0 && added !== 0) {
      changes.push(
        `"${name}" was ${typeNames(had).join(', ')} and is now also ${typeNames(added).join(', ')}`,
      );
    }
  }
  return changes;
}

/** Whether a run's warning is one of `schemaChanges`. */
export function isSchemaChange(warning: string): boolean {
  return /^new column "|^".*" was .* and is now also /s.test(warning);
}

const NULL_BIT = 1;
