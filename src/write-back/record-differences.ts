import { type ByteString, toByteString } from '../core/brands.js';
import { maskOf, selectionOf } from '../core/column-selection.js';
import type { FieldCount } from '../core/contract/write-back.js';
import type { ComparedRecord } from '../core/same-organization.js';
import type { ConnectionSettings } from '../core/settings.js';
import { compareValues } from '../json/compare.js';
import { JsonScanner } from '../json/scanner.js';
import { type JsonValue, jsonText, readValue } from '../json/value.js';
import { columnName } from '../lake/rows/data-columns.js';
import type { Profile } from '../lake/rows/profile.js';
import { PAIR, type PlannedRow } from './planner.js';

/** A field whose value in the service's record is not what the row sent. The values are JSON, shortened. */
export interface FieldDifference {
  readonly field: string;
  readonly sent: string;
  readonly shown: string;
}

/** What a record says other than its row did (docs/explanation/guarantees.md#write-back). */
export interface RecordDifferences {
  readonly differs: readonly FieldDifference[];
  /** Fields of the row that the record does not show. */
  readonly absent: readonly string[];
}

interface CompareOptions {
  /** Fields that are not compared (`writeBack.<resource>.ignore`). */
  readonly ignore: readonly string[];
  /** Whether the values of a field must not be shown, because the lake masks or excludes them. */
  readonly isHidden: (field: string) => boolean;
  /** Prepares a text of the service for a message. */
  readonly redact: (text: string) => string;
}

/** Tells which fields of a resource the lake does not show as they are: masked ones, and those that are not mirrored. */
export function hiddenFields(
  { resources }: Pick<ConnectionSettings, 'resources'>,
  resource: string,
): (field: string) => boolean {
  const mirrored = resources.find(({ name }) => name === resource);
  return mirrored === undefined ? () => false : hiddenBy(mirrored);
}

/** Tells which fields are not written to the lake as they are. */
export function hiddenBy({ columns, csv }: Pick<Profile, 'columns' | 'csv'>): (field: string) => boolean {
  const isKept = selectionOf(columns);
  const parts = [...Object.keys(columns.mask), ...columns.exclude];
  return (field) => {
    const column = columnName(field);
    if (!isKept([column]) || maskOf(columns, [column]) !== undefined) return true;
    // A part of the object is hidden.
    return parts.some((part) => part.startsWith(`${column}${csv.separator}`));
  };
}

/** Fields of a row that are named. A response that shows another record would name all of them. */
const MAX_FIELDS = 20;
const MAX_VALUE_CHARS = 100;
const HIDDEN = '[masked]';
/** Times that the service sets itself: a row that was edited in an export has the ones of before. */
export const KEPT_BY_SERVICE: readonly string[] = ['createdAt', 'updatedAt'];

/** A record that the service shows. */
export type ShownRecord = JsonValue;

/** @throws SyntaxError */
export function recordOfText(text: ByteString): ShownRecord {
  return readValue(new JsonScanner(text));
}

/** Compares the record in a response with the row that was sent; `null` without any difference. */
export function differencesOf(
  { body, pair }: Pick<PlannedRow, 'body' | 'pair'>,
  record: JsonValue,
  { ignore, isHidden, redact }: CompareOptions,
): RecordDifferences | null {
  if (record.kind !== 'object') return null;
  const differs: FieldDifference[] = [];
  const absent: string[] = [];
  for (const [field, sent] of fieldsOf(body, pair)) {
    if (KEPT_BY_SERVICE.includes(field) || ignore.includes(field)) continue;
    const shown = record.members.get(field) ?? null;
    const found = compareValues(sent, shown);
    if (found === 'absent' && absent.length < MAX_FIELDS) absent.push(field);
    if (found !== 'different' || shown === null || differs.length === MAX_FIELDS) continue;
    const texts = isHidden(field)
      ? { sent: HIDDEN, shown: HIDDEN }
      : { sent: shortened(jsonText(sent)), shown: shortened(redact(jsonText(shown))) };
    differs.push({ field, ...texts });
  }
  return differs.length + absent.length === 0 ? null : { differs, absent };
}

/**
 * A row and the text of a record, to show that both are the same record (`showsSameOrganization`). A value that is equal in another
 * form has the text of the row's.
 */
export function comparedRecord(
  { body, pair }: Pick<PlannedRow, 'body' | 'pair'>,
  text: ByteString,
  ignore: readonly string[],
): ComparedRecord {
  const record = recordOfText(text);
  const members = record.kind === 'object' ? record.members : new Map<string, JsonValue>();
  const known = new Map<string, string>();
  const found = new Map<string, string>();
  for (const [field, sent] of fieldsOf(body, pair)) {
    if (sent.kind === 'null' || ignore.includes(field)) continue;
    const value = sent.kind === 'string' ? sent.text : jsonText(sent);
    known.set(field, value);
    if (compareValues(sent, members.get(field) ?? null) === 'same') found.set(field, value);
  }
  return { known, found };
}

/** The fields of a row. A calendar entry can be sent without its pair, but the record must have it. */
export function fieldsOf(body: string, pair: PlannedRow['pair']): ReadonlyMap<string, JsonValue> {
  const row = readValue(new JsonScanner(toByteString(body)));
  const fields = new Map(row.kind === 'object' ? row.members : []);
  for (const [at, text] of (pair ?? []).entries()) fields.set(PAIR[at]!, { kind: 'string', text });
  return fields;
}

function shortened(text: string): string {
  if (text.length <= MAX_VALUE_CHARS) return text;
  return `${text.slice(0, MAX_VALUE_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The differences of a row, for its receipt: `projectId differs (sent "P7", the service shows null)`; `null` without any. */
export function differencesText(found: RecordDifferences | undefined): string | null {
  if (found === undefined || found.differs.length === 0) return null;
  return found.differs.map((one) => `${one.field} differs (${valuesText(one)})`).join('; ');
}

/** `sent "P7", the service shows null`. */
export function valuesText({ sent, shown }: Omit<FieldDifference, 'field'>): string {
  return `sent ${sent}, the service shows ${shown}`;
}

/** A field that differs in some rows, with the first of these rows. */
export interface FieldExample extends FieldCount, FieldDifference {
  /** The number of the row in the input, from 1. */
  readonly row: number;
}

/** Counts, for each field, the rows of a batch that differ or whose response does not show it. */
export class DifferenceCounter {
  readonly #differs = new Map<string, FieldExample>();
  readonly #absent = new Map<string, number>();

  /** @param row the number of the row in the input */
  add(row: number, found: RecordDifferences | undefined): void {
    for (const one of found?.differs ?? []) {
      const known = this.#differs.get(one.field);
      if (known !== undefined) this.#differs.set(one.field, { ...known, rows: known.rows + 1 });
      else if (this.#differs.size < MAX_FIELDS) this.#differs.set(one.field, { ...one, rows: 1, row });
    }
    for (const field of found?.absent ?? []) {
      const rows = this.#absent.get(field) ?? 0;
      if (rows > 0 || this.#absent.size < MAX_FIELDS) this.#absent.set(field, rows + 1);
    }
  }

  /** Fields and their rows, without values: they may enter a history. */
  get counts(): { readonly differs: readonly FieldCount[]; readonly absent: readonly FieldCount[] } {
    return {
      differs: this.examples.map(({ field, rows }) => ({ field, rows })),
      absent: [...this.#absent].map(([field, rows]) => ({ field, rows })),
    };
  }

  get examples(): readonly FieldExample[] {
    return [...this.#differs.values()];
  }
}
