import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import type { InputReading } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { readIsoTime } from '../core/utc-time.js';
import { Format, typeNames } from '../core/value-facts.js';
import { type Manifest, readManifest } from '../lake/documents/manifest.js';
import { readPointer } from '../lake/documents/pointer.js';
import { type Column, columnName, fieldOfColumn, META_COLUMNS } from '../lake/rows/data-columns.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import type { ObjectStore } from '../lake/store/index.js';
import { isCorrectionColumn } from './fields.js';
import { type IsoForm, ownValue, PLAIN_READING, type PublishedForm } from './reading.js';

/** The JSON type of a CSV column's cells in requests. */
const CELL_TYPES = ['string', 'integer', 'number', 'boolean', 'json'] as const;
export type CellType = (typeof CELL_TYPES)[number];

/** Column types by field name. */
export type CellTypes = Readonly<Record<string, CellType>>;

export interface InputColumn {
  readonly name: ByteString;
  readonly type: CellType;
  /** Where the type comes from, for messages. */
  readonly from: 'header' | 'batch' | 'published' | 'unit' | 'pair' | 'nothing';
  /** The text in the header that stands for the field (`InputReading.map`); absent: the header has its name. */
  readonly header?: string;
  /**
   * `field`: sent. `metadata`: a column that the lake has added. `correction`: one of `CORRECTION_COLUMNS`. `dropped`: left out
   * on request. `unnamed`: a last column without a name, which must be empty.
   */
  readonly role: 'field' | 'metadata' | 'correction' | 'dropped' | 'unnamed';
  /** What all published values are, if a cell must be the same. */
  readonly form: PublishedForm | null;
}

export interface TypeSources {
  /** Columns of the published snapshot; empty without one. */
  readonly published: readonly Column[];
  /** Types from the start of the batch; empty for a new batch. */
  readonly fixed: CellTypes;
  /** Columns that are always text. */
  readonly text: readonly string[];
}

type ColumnReading = Pick<InputReading, 'drop' | 'text' | 'escaped' | 'map' | 'units'>;

/**
 * The columns of a CSV. Names lose the spaces around them. A type comes from a suffix in the header
 * (`durationSeconds:integer`), from the batch, or from the published snapshot. An unknown column, or one with several types,
 * is text.
 *
 * @throws InputError for an empty name, a duplicate name, an unknown type, and a type that differs from the batch's
 */
export function inputColumns(
  header: readonly (ByteString | null)[],
  line: number,
  sources: TypeSources,
  reading: ColumnReading = PLAIN_READING,
): InputColumn[] {
  const published = new Map(sources.published.map((column) => [column.name, column]));
  const raw = header.map((cell) => (cell === null ? null : fromByteString(cell)));
  const isExported = isExport(raw.map((cell) => cell?.trim() ?? ''));
  // An export has the names of the service, also an empty one and those with spaces around them.
  const isOwn = (cell: string | null): boolean => isExported && cell !== null && published.has(cell);
  const cells = raw.map((cell) => (isOwn(cell) ? cell! : (cell?.trim() ?? '')));
  const named = cells.findLastIndex((text, at) => text !== '' || isOwn(raw[at]!)) + 1;
  const columns = cells.map((cell, at): InputColumn => {
    if (at >= named) return { ...UNNAMED, role: 'unnamed' };
    const text = isExported ? restoredName(cell, reading) : cell;
    if ((META_COLUMNS as readonly string[]).includes(text))
      return {
        ...UNNAMED,
        name: toByteString(text),
        role: reading.drop.includes(text) ? 'dropped' : 'metadata',
      };
    if (isCorrectionColumn(text)) return { ...UNNAMED, name: toByteString(text), role: 'correction' };
    const mapped = ownValue(reading.map, text);
    const shown = mapped ?? text;
    const isName = published.has(shown) || Object.hasOwn(sources.fixed, shown);
    const { column, suffix } = headerCell(shown, at, line, isName);
    const field = fieldOfColumn(column);
    const name = toByteString(field);
    const isDropped = [field, column, text].some((one) => reading.drop.includes(one));
    const known = published.get(columnName(field));
    return {
      name,
      role: isDropped ? 'dropped' : 'field',
      ...typeOf(field, suffix, known, sources, reading, line),
      ...(mapped === undefined ? {} : { header: text }),
    };
  });
  checkNames(columns, line);
  return columns;
}

const UNNAMED = { name: '' as ByteString, type: 'string', from: 'nothing', form: null } as const;

/** Names of columns are escaped only for line breaks. */
function restoredName(cell: string, { escaped }: ColumnReading): string {
  const decode = cellDecoder({ lineBreaks: escaped.lineBreaks, escapeFormulas: false });
  return decode === null ? cell : fromByteString(decode(toByteString(cell)));
}

/** Whether columns are those of an export of the lake, which has metadata columns. */
export function isExport(names: readonly string[]): boolean {
  return names.includes(META_COLUMNS[0]);
}

function typeOf(
  field: string,
  suffix: CellType | null,
  known: Column | undefined,
  sources: TypeSources,
  reading: ColumnReading,
  line: number,
): Pick<InputColumn, 'type' | 'from' | 'form'> {
  const fixed = Object.hasOwn(sources.fixed, field) ? sources.fixed[field] : undefined;
  const given = reading.text.includes(field) ? 'string' : suffix;
  if (given !== null && fixed !== undefined && fixed !== given)
    throw new InputError(`the batch was started with ${field} as ${fixed}, but the header now has ${given}`, {
      line,
      remedy: 'Send the rows that need another type as a separate batch.',
    });
  if (sources.text.includes(field)) return { type: 'string', from: 'pair', form: null };
  if (given !== null) return { type: given, from: 'header', form: null };
  const form = known === undefined ? null : publishedForm(known);
  if (fixed !== undefined) return { type: fixed, from: 'batch', form };
  const seen = publishedType(known?.types ?? 0);
  if (seen !== null) return { type: seen, from: 'published', form };
  return Object.hasOwn(reading.units ?? {}, field)
    ? { type: 'number', from: 'unit', form: null }
    : { type: 'string', from: 'nothing', form: null };
}

function headerCell(
  text: string,
  at: number,
  line: number,
  isName: boolean,
): { column: string; suffix: CellType | null } {
  if (text === '' && !isName) throw new InputError(`column ${at + 1} has no name in the header`, { line });
  const colon = text.lastIndexOf(':');
  // The name of a field can contain a colon.
  if (colon <= 0 || isName) return { column: text, suffix: null };
  const type = text.slice(colon + 1).trim();
  const suffix = CELL_TYPES.find((one) => one === type);
  if (suffix !== undefined) return { column: text.slice(0, colon).trim(), suffix };
  throw new InputError(`column ${at + 1}, ${JSON.stringify(text)}, has an unknown type after the colon`, {
    line,
    remedy: `The types are ${CELL_TYPES.join(', ')}. Without a type, the published snapshot decides.`,
  });
}

/** The name of a column without its type. A name of another form is as it is. */
export function withoutType(text: string): string {
  const colon = text.lastIndexOf(':');
  const isTyped = colon > 0 && (CELL_TYPES as readonly string[]).includes(text.slice(colon + 1).trim());
  return isTyped ? text.slice(0, colon).trim() : text;
}

/** The single type of a published column besides null; `null` for a column with no other values. */
function publishedType(bits: number): CellType | null {
  const names = typeNames(bits).filter((name) => name !== 'null');
  if (names.length === 0) return null;
  if (names.every((name) => name === 'integer')) return 'integer';
  if (names.every((name) => name === 'integer' || name === 'number')) return 'number';
  if (names.every((name) => name === 'object' || name === 'array')) return 'json';
  return names.length === 1 && names[0] === 'boolean' ? 'boolean' : 'string';
}

function checkNames(columns: readonly InputColumn[], line: number): void {
  const seen = new Map<string, number>();
  for (const [at, { name, role }] of columns.entries()) {
    if (role !== 'field') continue;
    const before = seen.get(name);
    if (before !== undefined) {
      throw new InputError(
        `the header names ${JSON.stringify(fromByteString(name))} twice, in columns ${before + 1} and ${at + 1}`,
        { line },
      );
    }
    seen.set(name, at);
  }
}

/** The types to fix for the rest of the batch. */
export function typesOf(columns: readonly InputColumn[]): CellTypes {
  const fields = columns.filter(({ role }) => role === 'field');
  return Object.fromEntries(fields.map(({ name, type }) => [fromByteString(name), type]));
}

/** The names of the columns that are sent. */
export function sentNames(columns: readonly InputColumn[]): string[] {
  return columns.filter(({ role }) => role === 'field').map(({ name }) => fromByteString(name));
}

/** Columns whose published values have several types, so that the type of a cell is not known. They are sent as text. */
export function mixedColumns(
  columns: readonly InputColumn[],
  published: readonly Column[],
): readonly string[] {
  const mixed = new Set(published.filter(isMixed).map(({ name }) => name));
  const typed = columns.filter(({ from }) => from === 'published');
  return sentNames(typed).filter((name) => mixed.has(columnName(name)));
}

function isMixed({ types }: Column): boolean {
  return (
    publishedType(types) === 'string' && typeNames(types).some((name) => name !== 'string' && name !== 'null')
  );
}

/** Columns that no published row has had, such as misspelled ones; empty without a snapshot. They are sent as they are. */
export function unpublishedColumns(
  columns: readonly InputColumn[],
  published: readonly Column[],
): readonly string[] {
  if (published.length === 0) return [];
  const known = new Set(published.map(({ name }) => name));
  return sentNames(columns).filter((name) => !known.has(columnName(name)));
}

/** The published snapshot of a resource; `null` if nothing is published. */
export async function publishedSnapshotOf(store: ObjectStore, resource: string): Promise<Manifest | null> {
  const pointer = await readPointer(store, resource);
  return pointer && readManifest(store, pointer.snapshot);
}

export type { IsoForm, PublishedForm };

export function isIsoForm(form: PublishedForm | null): form is IsoForm {
  return form === 'date' || form === 'time' || form === 'date or time';
}

/** Names for messages. */
export const FORM_NAMES: Readonly<Record<PublishedForm, string>> = {
  date: 'a date in ISO 8601 (2026-11-02)',
  time: 'a time in ISO 8601 with a zone (2026-11-02T08:00:00Z)',
  'date or time': 'a date or time in ISO 8601 (2026-11-02, 2026-11-02T08:00:00Z)',
  number: 'a number',
  boolean: 'true or false',
};

/** The form of a column; `null` if its published values do not have one. */
export function publishedForm({ types, values }: Column): PublishedForm | null {
  const names = typeNames(types).filter((name) => name !== 'null');
  if (names.length === 0) return null;
  if (names.every((name) => name === 'integer' || name === 'number')) return 'number';
  if (names.length > 1) return null;
  if (names[0] === 'boolean') return 'boolean';
  if (names[0] !== 'string' || values === undefined || (values.formats & Format.text) !== 0) return null;
  const dates = (values.formats & Format.date) !== 0;
  const times = (values.formats & (Format.millis | Format.micros)) !== 0;
  if (dates && times) return 'date or time';
  return dates ? 'date' : times ? 'time' : null;
}

/**
 * Whether a text is a date or time of a form. The seconds can be left out, and have any number of digits; the zone has a colon.
 */
export function isIso(text: string, form: IsoForm): boolean {
  const time = readIsoTime(text);
  if (time === null) return false;
  if (time.precision === 'day') return form !== 'time';
  return form !== 'date' && (time.zone === 'Z' || time.zone.includes(':'));
}
