import { createHash, hash } from 'node:crypto';
import { type ByteString, fromByteString, toByteString } from '../../core/brands.js';
import { maskOf, nameAndAncestors, selectionOf } from '../../core/column-selection.js';
import type { ColumnSettings, CsvSettings } from '../../core/settings.js';
import { columnName } from './data-columns.js';
import { cellDecoder, cellEncoder, type Escaping } from './escaping.js';
import type { MaskingKey } from './masking-key.js';
import type { SortKey } from './row.js';

/**
 * How a resource's rows are written. A merge copies a part unchanged only if it was written with the same profile
 * (docs/reference/lake.md); profiles are compared by fingerprint.
 */
export interface Profile {
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  readonly columns: ColumnSettings;
}

declare const ready: unique symbol;

/**
 * A profile that cells can be written with: it holds the secret of `columns.maskedWith`. Only `readyProfile` makes one, so
 * that no caller can forget the secret. It is for use in memory, and never part of a document.
 */
export type ReadyProfile<P extends Profile = Profile> = P & {
  readonly maskingKey: MaskingKey | null;
  readonly [ready]: true;
};

/** @param maskingKey `null`: no cell is masked with a secret */
export function readyProfile<P extends Profile>(profile: P, maskingKey: MaskingKey | null): ReadyProfile<P> {
  if (profile.columns.maskedWith !== maskingKey?.fingerprint)
    throw new Error('cells are to be masked without the masking secret, or with another one');
  return { ...profile, maskingKey } as ReadyProfile<P>;
}

/** A profile for keys alone. They must not be masked, so it needs no secret. */
export function unmaskedKeys<P extends Profile>(profile: P): ReadyProfile<P> {
  const { maskedWith: _, ...columns } = profile.columns;
  return readyProfile({ ...profile, columns: { ...columns, mask: {} } }, null);
}

/** Version of the rules for writing cells. Parts of an earlier version are rewritten once. */
const CELL_RULES = 3;

/** A hash of all that determines the bytes of rows. The part size is excluded, because it does not change rows. */
export function profileFingerprint({ key, csv, columns }: Profile): string {
  const { partBytes: _, ...format } = csv;
  const { mask, include, exclude, maskedWith } = columns;
  const keyed = maskedWith === undefined ? [] : [maskedWith];
  const all = [CELL_RULES, key, sorted(format), sorted(mask), include, exclude, ...keyed];
  return hash('sha256', JSON.stringify(all)).slice(0, 16);
}

function sorted(record: object): [string, unknown][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * The settings that determine the text of a row's key. They must not change while a resource is mirrored, because rows
 * are identified and sorted by key.
 */
export function keyFingerprint({ key, csv, columns }: Profile): string {
  const masks = key.map((field) => {
    const mask = maskOf(columns, nameAndAncestors(csv, columnName(field)));
    return mask === 'hash' && columns.maskedWith !== undefined ? `hash:${columns.maskedWith}` : mask;
  });
  // A flattened field is a key only as long as objects are flattened in the same way.
  const isFlat = csv.nested === 'flatten' && key.some((field) => field.includes(csv.separator));
  return JSON.stringify([key, masks, ...(isFlat ? [csv.separator] : [])]);
}

/** Whether the sort key tells the record's id, so that the record can be requested by it. */
export function keyIsId({ key, csv, columns }: Profile): boolean {
  const [field, ...others] = key;
  if (field === undefined || others.length > 0) return false;
  return maskOf(columns, nameAndAncestors(csv, columnName(field))) === undefined;
}

/** The id of a record, as the service writes it. @param key its sort key, with the escapes of the lake */
export function idOf(key: SortKey, csv: Escaping): string {
  const id = key as ByteString;
  return fromByteString(cellDecoder(csv)?.(id) ?? id);
}

/** Returns a function that tests whether a column is written to the lake. Settings of a nested field also apply to its flattened columns. */
export function isWanted(profile: Profile): (name: string) => boolean {
  const keys = new Set(profile.key.map(columnName));
  const isKept = selectionOf(profile.columns);
  return (name) => keys.has(name) || isKept(nameAndAncestors(profile.csv, name));
}

/** Whether any field's values are replaced by hashes. */
export function hashesColumns({ columns }: Pick<Profile, 'columns'>): boolean {
  return Object.values(columns.mask).includes('hash');
}

/**
 * The data columns whose values are hashed or redacted.
 *
 * @example
 * const [resource] = connection.resources;
 * if (resource !== undefined) console.log(maskedColumns(resource, ['id', 'email']));
 */
export function maskedColumns(profile: Profile, names: readonly string[]): string[] {
  return names.filter((name) => maskOf(profile.columns, nameAndAncestors(profile.csv, name)) !== undefined);
}

/** Whether a field of the key is masked. */
export function hasMaskedKey(profile: Profile): boolean {
  return maskedColumns(profile, profile.key.map(columnName)).length > 0;
}

/** Converts the values of a column (masking, escaping); `null`, the common case, for no conversion. */
export type CellRule = ((cell: ByteString) => ByteString) | null;

/** Returns the rule for one column, which makes cells of the service's values. It is created once for each run. */
export function cellRule(profile: ReadyProfile, column: string): CellRule {
  const mask = maskOf(profile.columns, nameAndAncestors(profile.csv, column));
  // A masked value needs no escaping.
  return mask === undefined ? cellEncoder(profile.csv) : maskRule(profile, mask);
}

/** Returns the rule that masks values. Equal values give equal cells, so joins still work. */
export function maskRule({ maskingKey }: ReadyProfile, mask: 'hash' | 'redact'): NonNullable<CellRule> {
  if (mask === 'redact') return () => REDACTED;
  // Without a secret, a guessed value can be checked against the hash.
  if (maskingKey === null)
    return (cell) => createHash('sha256').update(cell, 'latin1').digest('hex') as string as ByteString;
  return (cell) => maskingKey.hash(cell);
}

const REDACTED = toByteString('[redacted]');
