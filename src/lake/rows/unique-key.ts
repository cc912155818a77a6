import { JsonType } from '../../core/value-facts.js';
import type { Column } from './data-columns.js';

/** Records as their values by field. */
type Values = ReadonlyMap<string, string | null>;

/** Names of ids and of other fields that usually belong to a key. They are preferred. */
const OF_KEY = /id$|_id|key|code|source|number/i;
const MAX_FIELDS = 3;

/**
 * The fields that make the key unique with today's key, as far as these records show it: those with ids, whole numbers or texts
 * without a time; `null` if there are none.
 *
 * @param same for each key that is not unique, its different records
 * @param types the JSON types of each field
 */
export function uniqueKey(
  key: readonly string[],
  same: readonly (readonly Values[])[],
  columns: readonly Pick<Column, 'name' | 'types' | 'values'>[],
): readonly string[] | null {
  const names = columns
    .filter((column) => !key.includes(column.name) && mayIdentify(column))
    .map(({ name }) => name);
  const added =
    fieldsThatSeparate(
      names.filter((name) => OF_KEY.test(name)),
      same,
    ) ?? fieldsThatSeparate(names, same);
  return added === null ? null : [...added, ...key];
}

/** The fewest fields, as far as each next one is the best, whose values differ between all records of each key. */
function fieldsThatSeparate(names: readonly string[], same: readonly (readonly Values[])[]): string[] | null {
  const added: string[] = [];
  for (let left = same; left.length > 0; ) {
    const open = (field: string) => left.filter((records) => !areApart(records, [...added, field]));
    const all = names.map((name) => ({ name, rest: open(name) }));
    const best = all.reduce((a, b) => (b.rest.length < a.rest.length ? b : a), { name: '', rest: left });
    if (best.rest === left || added.length === MAX_FIELDS) return null;
    left = best.rest;
    added.push(best.name);
  }
  return added;
}

function mayIdentify({ types, values }: Pick<Column, 'types' | 'values'>): boolean {
  const isText = (types & ~(JsonType.string | JsonType.null)) === 0 && (types & JsonType.string) !== 0;
  const isInteger = (types & ~(JsonType.integer | JsonType.null)) === 0 && (types & JsonType.integer) !== 0;
  return isInteger || (isText && (values.formats & ~TEXT) === 0);
}

/** As `Format.text`: no dates and times. */
const TEXT = 1;

/** Whether no two records have the same values in these fields, and none lacks one. */
function areApart(records: readonly Values[], fields: readonly string[]): boolean {
  const seen = new Set(
    records.flatMap((record) => {
      const cells = fields.map((field) => record.get(field) ?? null);
      return cells.includes(null) ? [] : [JSON.stringify(cells)];
    }),
  );
  return seen.size === records.length;
}
