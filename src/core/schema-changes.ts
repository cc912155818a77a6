import { jsonTextBytes, shownName } from './text-budget.js';

/** A new column, or new JSON types of the values of a known one. Types are names as in the manifest's `jsonTypes`. */
export interface SchemaChange {
  /** Of the column. In histories and states, a long name is cut. */
  readonly name: string;
  /** The types of earlier values; `null`: the column is new. */
  readonly had: readonly string[] | null;
  readonly added: readonly string[];
}

/** The schema changes of a run in histories and states; the manifest has all of them. */
export interface SchemaChanges {
  /** The first ones. */
  readonly first: readonly SchemaChange[];
  /** Of all of them. */
  readonly count: number;
}

/** Most schema changes of a record. */
const MAX_CHANGES = 20;
/** Most bytes of the texts of the schema changes of a record. */
export const MAX_CHANGES_BYTES = 3000;

/** Keeps the first changes, and the number of all. */
export function limitChanges(
  { first, count }: SchemaChanges,
  maxBytes: number = MAX_CHANGES_BYTES,
): SchemaChanges {
  let left = maxBytes;
  const kept: SchemaChange[] = [];
  for (const change of first.slice(0, MAX_CHANGES)) {
    const shown = { ...change, name: shownName(change.name) };
    left -= jsonTextBytes(textOf(shown));
    if (left < 0) break;
    kept.push(shown);
  }
  return { first: kept, count };
}

/** The schema changes of a run as a field of its record; no field if there are none. */
export function changesField(all: readonly SchemaChange[]): { readonly schemaChanges?: SchemaChanges } {
  return all.length === 0 ? {} : { schemaChanges: limitChanges({ first: all, count: all.length }) };
}

/** Describes schema changes, one text for each, and one for those that are left out. */
export function schemaChangeTexts({ first, count }: SchemaChanges): string[] {
  const more = count - first.length;
  return [...first.map(textOf), ...(more === 0 ? [] : [`${more} more, in the manifest`])];
}

function textOf({ name, had, added }: SchemaChange): string {
  const types = (added ?? []).join(', ') || 'no values';
  return had === null
    ? `new column "${shownName(name)}" (${types})`
    : `"${shownName(name)}" was ${had.join(', ')} and is now also ${types}`;
}

/** Schema changes among the warnings of a run: each text names its subject first (docs/how-to/monitor.md#warnings). */
export function schemaWarnings(changes: SchemaChanges | undefined): string[] {
  return changes === undefined ? [] : schemaChangeTexts(changes).map((text) => `schema change: ${text}`);
}
