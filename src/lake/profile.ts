import { createHash } from 'node:crypto';
import type { ByteString } from '../core/brands.js';
import { fromByteString, toByteString } from '../core/brands.js';
import type { ColumnSettings, CsvSettings } from '../core/settings.js';
import { columnName } from './schema.js';

/**
 * How a resource's rows are written. Two parts may stand in one snapshot unchanged only if they were written with
 * the same profile (DESIGN 6), so a profile has a fingerprint.
 */
export interface Profile {
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  readonly columns: ColumnSettings;
}

/** Equal for equal bytes: the part size is left out, for it says where parts end and not what is in them. */
export function profileFingerprint({ key, csv, columns }: Profile): string {
  const { partBytes: _, ...format } = csv;
  return createHash('sha256')
    .update(JSON.stringify([key, sorted(format), sorted(columns.mask), columns.include, columns.exclude]))
    .digest('hex')
    .slice(0, 16);
}

function sorted(record: object): [string, unknown][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * What decides the text of a row's key. It must stay the same for as long as a resource is mirrored: rows are
 * told apart and sorted by it.
 */
export function keyFingerprint({ key, csv, columns }: Profile): string {
  const masks = key.map((field) => maskOf(columns, [columnName(field)]));
  return JSON.stringify([key, masks, csv.lineBreaks, csv.escapeFormulas]);
}

/** Whether a row's sort key is the record's id as the service writes it, so that the service can be asked for it. */
export function hasPlainId(profile: Profile): boolean {
  const [field, ...others] = profile.key;
  return field !== undefined && others.length === 0 && cellRule(profile, columnName(field)) === null;
}

/** Whether a column may reach the lake at all. What is said of a nested field goes for what it is flattened to. */
export function isWanted(profile: Profile): (name: string) => boolean {
  const { key, columns } = profile;
  const keys = new Set(key.map(columnName));
  const excluded = new Set(columns.exclude);
  const included = columns.include === null ? null : new Set(columns.include);
  return (name) => {
    const names = lineage(profile, name);
    const kept = included === null || names.some((one) => included.has(one));
    return keys.has(name) || (kept && !names.some((one) => excluded.has(one)));
  };
}

/** A column's name and, where nested values are flattened, the names of the fields around it: `a.b` and `a`. */
function lineage({ csv }: Profile, name: string): string[] {
  const names = [name];
  if (csv.nested !== 'flatten') return names;
  for (let at = name.lastIndexOf(csv.separator); at > 0; at = name.lastIndexOf(csv.separator, at - 1)) {
    names.push(name.slice(0, at));
  }
  return names;
}

/** The mask of the nearest name. A field may be called `constructor`: only what the configuration names is a mask. */
function maskOf({ mask }: ColumnSettings, names: readonly string[]): 'hash' | 'redact' | undefined {
  const name = names.find((one) => Object.hasOwn(mask, one));
  return name === undefined ? undefined : mask[name];
}

/** Those of a header's data columns whose values are hashes or stand-ins. */
export function maskedColumns(profile: Profile, names: readonly string[]): string[] {
  return names.filter((name) => maskOf(profile.columns, lineage(profile, name)) !== undefined);
}

/** What happens to a column's values on their way to the lake; `null` for nothing, which is the common case. */
export type CellRule = ((cell: ByteString) => ByteString) | null;

type RuleName = 'hash' | 'redact' | 'lineBreaks' | 'formulas';

/** Rules of one column in the order of their use: masking, or escaping of line breaks and then of formulas. */
function ruleNames(profile: Profile, column: string): RuleName[] {
  const mask = maskOf(profile.columns, lineage(profile, column));
  if (mask !== undefined) return [mask];
  const names: RuleName[] = [];
  if (profile.csv.lineBreaks === 'escape') names.push('lineBreaks');
  if (profile.csv.escapeFormulas) names.push('formulas');
  return names;
}

/**
 * The rule for one column, made once for a run.
 *
 * @param before the profile that the cells were written with already: its rules are not used again
 */
export function cellRule(profile: Profile, column: string, before?: Profile): CellRule {
  const done = before === undefined ? [] : ruleNames(before, column);
  // What is masked is no longer text that needs escaping.
  if (done[0] === 'redact' || (done[0] === 'hash' && !ruleNames(profile, column).includes('redact')))
    return null;
  const rules = ruleNames(profile, column)
    .filter((name) => !done.includes(name))
    .map((name) => RULES[name]);
  if (rules.length === 0) return null;
  return (cell) => rules.reduce((value, rule) => rule(value), cell);
}

const REDACTED = toByteString('[redacted]');

/** SHA-256 in hexadecimal: the same value gives the same cell, so that joins still work. */
function hashed(cell: ByteString): ByteString {
  return createHash('sha256').update(cell, 'latin1').digest('hex') as string as ByteString;
}

const LINE_BREAK = /[\\\n\r]/;

/** Backslash, LF and CR as two characters each, so that the true value can be had back. */
function escapeLineBreaks(cell: ByteString): ByteString {
  if (!LINE_BREAK.test(cell)) return cell;
  return cell.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r') as ByteString;
}

/** What a spreadsheet takes for the start of a formula, full-width forms included (OWASP, "CSV Injection"). */
const FORMULA = /^(?:[=+\-@\t\r]|\uff1d|\uff0b|\uff0d|\uff20)/;

function escapeFormula(cell: ByteString): ByteString {
  const first = cell.charCodeAt(0);
  const plain = first !== 0xef && first !== 0x09 && first !== 0x0d && !(first >= 0x2b && first <= 0x40);
  if (Number.isNaN(first) || plain) return cell;
  return FORMULA.test(fromByteString(cell)) ? (`'${cell}` as ByteString) : cell;
}

const RULES: Readonly<Record<RuleName, (cell: ByteString) => ByteString>> = {
  hash: hashed,
  redact: () => REDACTED,
  lineBreaks: escapeLineBreaks,
  formulas: escapeFormula,
};
