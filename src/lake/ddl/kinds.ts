import { type Column, META_COLUMNS, typeNames } from '../rows/schema.js';

/** The most specific type that can hold all values of a column. */
export type Kind = 'integer' | 'number' | 'boolean' | 'time' | 'text';

/** Kind of a data column, from the JSON types seen so far. A mixture is `text`, except integers with other numbers. */
export function kindOf({ types }: Pick<Column, 'types'>): Kind {
  const seen = typeNames(types).filter((name) => name !== 'null');
  if (seen.length === 0) return 'text';
  if (seen.every((name) => name === 'boolean')) return 'boolean';
  if (seen.every((name) => name === 'integer')) return 'integer';
  if (seen.every((name) => name === 'integer' || name === 'number')) return 'number';
  return 'text';
}

/** A header column as it appears in a statement. */
export interface TableColumn {
  /** Name in the header. */
  readonly name: string;
  readonly alias: string;
  readonly kind: Kind;
}

/** @param masked columns whose values are hashed or redacted, so their type is text */
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

/** Comment lines for columns whose alias differs from their name. */
export function renamed(columns: readonly TableColumn[]): string[] {
  return columns
    .filter(({ name, alias }) => name !== alias)
    .map(({ name, alias }) => `Column ${JSON.stringify(name)} has the name ${alias} here.`);
}
