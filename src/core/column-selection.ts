import type { ColumnSettings, CsvSettings } from './settings.js';

/** Returns a function that tests whether a column is kept. It takes the column's name and those of the enclosing fields. */
export function selectionOf({ include, exclude }: ColumnSettings): (names: readonly string[]) => boolean {
  const [included, excluded] = [include && new Set(include), new Set(exclude)];
  return (names) =>
    (included === null || names.some((one) => included.has(one))) && !names.some((one) => excluded.has(one));
}

/** A column's name and, if nested values are flattened, the names of the enclosing fields: `a.b` and `a`. */
export function nameAndAncestors(csv: Pick<CsvSettings, 'nested' | 'separator'>, name: string): string[] {
  const names = [name];
  if (csv.nested !== 'flatten') return names;
  for (let at = name.lastIndexOf(csv.separator); at > 0; at = name.lastIndexOf(csv.separator, at - 1)) {
    names.push(name.slice(0, at));
  }
  return names;
}

/** The mask of the most specific name. `hasOwn` is needed because a field can be named `constructor`. */
export function maskOf(
  { mask }: Pick<ColumnSettings, 'mask'>,
  names: readonly string[],
): 'hash' | 'redact' | undefined {
  const name = names.find((one) => Object.hasOwn(mask, one));
  return name === undefined ? undefined : mask[name];
}
