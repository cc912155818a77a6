import { parseStored } from '../../core/stored-json.js';
import { columnAliases } from '../../lake/rows/column-aliases.js';
import { type Column, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { type ColumnType, startType } from './column-type.js';
export interface TableColumn {
  /** Name in the header of the snapshot. */
  readonly name: string;
  /** Name in the table. It differs if Delta does not accept the name. */
  readonly alias: string;
  readonly type: ColumnType;
  /** Whether `tables.types` sets the type. */
  readonly fixed: boolean;
}

/** The types that `tables.types` sets for a resource, by the column's name in the header. */
export type FixedTypes = Readonly<Record<string, ColumnType>>;

/** Characters that Delta does not accept in a name without column mapping, and control characters. */
const INVALID = /[ ,;{}()=\p{Cc}]/gu;

const META_TYPES: ReadonlyMap<string, ColumnType> = new Map([
  ['_run_id', 'string'],
  ['_synced_at', 'timestamp'],
  ['_deleted_at', 'timestamp'],
]);

/**
 * The columns of a table after a snapshot: those that it has, and the snapshot's new ones at the end. A column keeps its
 * alias, and its type until a value needs a wider one. It gets another type immediately if the configuration sets one.
 *
 * @param columns data columns of the snapshot
 */
export function nextColumns(
  before: readonly TableColumn[],
  columns: readonly Column[],
  fixed: FixedTypes,
): TableColumn[] {
  const known = new Map(before.map((column) => [column.name, column]));
  const seen = new Map(columns.map(({ name, types }) => [name, types]));
  const all = [...known.keys(), ...[...META_COLUMNS, ...seen.keys()].filter((name) => !known.has(name))];
  const aliases = columnAliases(all, { toName: (name) => name.replace(INVALID, '_'), reserved: [] });
  return all.map((name, at): TableColumn => {
    const alias = aliases[at]!;
    const meta = META_TYPES.get(name);
    if (meta !== undefined) return { name, alias, type: meta, fixed: false };
    const set = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
    if (set !== undefined) return { name, alias, type: set, fixed: true };
    const column = known.get(name);
    // What was written with a type of the configuration says nothing about the values.
    const type = column === undefined || column.fixed ? 'empty' : column.type;
    return { name, alias, type: startType(type, seen.get(name) ?? 0), fixed: false };
  });
}

/**
 * Whether files that were written for `before` are valid for `after`: no column that has values changed its type. A file
 * with a type of the configuration can have NULL for values that did not fit, so it is valid only with that setting.
 */
export function sameTypes(before: readonly TableColumn[], after: readonly TableColumn[]): boolean {
  const byName = new Map(after.map((column) => [column.name, column]));
  return before.every(({ name, type, fixed }) => {
    const next = byName.get(name);
    return type === 'empty' || (next?.type === type && (!fixed || next.fixed));
  });
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const NAME = 'worktrack.name';
const EMPTY = 'worktrack.empty';
const FIXED = 'worktrack.fixed';

/** The `schemaString` of the table's metadata (PROTOCOL.md, "Schema Serialization Format"). */
export function encodeSchema(columns: readonly TableColumn[]): string {
  const fields = columns.map(({ name, alias, type, fixed }) => ({
    name: alias,
    type: type === 'empty' ? 'string' : type,
    nullable: true,
    metadata: {
      ...(alias === name ? {} : { [NAME]: name }),
      ...(type === 'empty' ? { [EMPTY]: true } : {}),
      ...(fixed ? { [FIXED]: true } : {}),
    },
  }));
  return JSON.stringify({ type: 'struct', fields });
}

export function decodeSchema(schemaString: string): TableColumn[] {
  const { fields } = parseStored(schemaString) as { readonly fields: readonly Field[] };
  return fields.map(({ name, type, metadata = {} }) => ({
    name: typeof metadata[NAME] === 'string' ? metadata[NAME] : name,
    alias: name,
    type: metadata[EMPTY] === true ? 'empty' : (type as ColumnType),
    fixed: metadata[FIXED] === true,
  }));
}
