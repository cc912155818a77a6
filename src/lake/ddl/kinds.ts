import { type Column, META_COLUMNS, typeNames } from '../schema.js';

/** What a column's values are, as far as one type can hold them all. */
export type Kind = 'integer' | 'number' | 'boolean' | 'time' | 'text';

/** Of a data column, by the JSON types seen in it so far; mixed ones are text. */
export function kindOf({ types }: Pick<Column, 'types'>): Kind {
  const seen = typeNames(types).filter((name) => name !== 'null');
  if (seen.length === 0) return 'text';
  if (seen.every((name) => name === 'boolean')) return 'boolean';
  if (seen.every((name) => name === 'integer')) return 'integer';
  if (seen.every((name) => name === 'integer' || name === 'number')) return 'number';
  return 'text';
}

/** A column of the header on its way into a statement. */
export interface TableColumn {
  /** In the header. */
  readonly name: string;
  readonly alias: string;
  readonly kind: Kind;
}

/** @param masked columns whose values are hashes or stand-ins now, whatever the service sent */
export function tableColumns(
  columns: readonly Column[],
  masked: ReadonlySet<string>,
  toAliases: (names: readonly string[]) => string[],
): TableColumn[] {
  const all: Omit<TableColumn, 'alias'>[] = [
    ...META_COLUMNS.map((name) => ({
      name,
      kind: name === '_run_id' ? ('text' as const) : ('time' as const),
    })),
    ...columns.map((column) => ({
      name: column.name,
      kind: masked.has(column.name) ? ('text' as const) : kindOf(column),
    })),
  ];
  const aliases = toAliases(all.map(({ name }) => name));
  return all.map((column, at) => ({ ...column, alias: aliases[at]! }));
}

/** Columns that go by another name in statements, for a comment. */
export function renamed(columns: readonly TableColumn[]): string[] {
  return columns
    .filter(({ name, alias }) => name !== alias)
    .map(({ name, alias }) => `The column ${JSON.stringify(name)} is called ${alias} here.`);
}
