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

/** Whether a column may reach the lake at all. */
export function isWanted({ key, columns }: Profile): (name: string) => boolean {
  const keys = new Set(key.map(columnName));
  const excluded = new Set(columns.exclude);
  const included = columns.include === null ? null : new Set(columns.include);
  return (name) => keys.has(name) || (!excluded.has(name) && (included === null || included.has(name)));
}

/** What happens to a column's values on their way to the lake; `null` for nothing, which is the common case. */
export type CellRule = ((cell: ByteString) => ByteString) | null;

/** The rule for one column, made once for a run: masking, then escaping of line breaks, then of formulas. */
export function cellRule(profile: Profile, column: string): CellRule {
  const rules: ((cell: ByteString) => ByteString)[] = [];
  // A field may be called `constructor`: only what the configuration names is a mask.
  const masks = profile.columns.mask;
  const mask = Object.hasOwn(masks, column) ? masks[column] : undefined;
  if (mask === 'hash') rules.push(hashed);
  if (mask === 'redact') rules.push(() => REDACTED);
  if (mask === undefined) {
    if (profile.csv.lineBreaks === 'escape') rules.push(escapeLineBreaks);
    if (profile.csv.escapeFormulas) rules.push(escapeFormula);
  }
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
