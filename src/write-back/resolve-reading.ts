import { fromByteString } from '../core/brands.js';
import type { InputFormat, InputReading } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { CsvSettings } from '../core/settings.js';
import { META_COLUMNS } from '../lake/rows/data-columns.js';
import { type InputColumn, isIsoForm, publishedForm, type TypeSources } from './input-columns.js';
import { delimiterOf, encodingOf, findDelimiter, headText } from './input-format.js';
import { InputProblems } from './input-problems.js';
import { readInputRows } from './input-rows.js';
import type { InputSource } from './input-source.js';
import { InputFacts, PLAIN_READING } from './reading.js';
import { unitOf } from './units.js';

/** What a user says about the text of an input. */
export interface ReadingOptions {
  /** Name or number of the sheet of a workbook. Default: the only one with cells. */
  readonly sheet?: string | undefined;
  /** `,` `;` `tab` or `|`. Default: found in the header. */
  readonly delimiter?: string | undefined;
  /** Name in the WHATWG Encoding Standard, such as `windows-1252`. Default: a byte order mark decides, otherwise UTF-8. */
  readonly encoding?: string | undefined;
  /** Whether the numbers of a CSV have a decimal comma. */
  readonly decimalComma?: boolean | undefined;
  /** Formats of dates and times in a CSV, such as `dd.MM.yyyy HH:mm`. They are converted to ISO 8601. */
  readonly dateFormats?: readonly string[] | undefined;
  /** Zone of the times, such as `Europe/Berlin`. */
  readonly timezone?: string | undefined;
  /** Columns with another name: from the text in the header to a field, which may have a type (`durationSeconds:integer`). */
  readonly map?: Readonly<Record<string, string>> | undefined;
  /** Words for `true` and for `false` in columns of this type. `true` and `false` always count. */
  readonly trueWords?: readonly string[] | undefined;
  readonly falseWords?: readonly string[] | undefined;
  /** By field: the unit of its cells, such as `h` (`unitOf`). */
  readonly units?: Readonly<Record<string, string>> | undefined;
  /** Columns that are left out. */
  readonly dropColumns?: readonly string[] | undefined;
  /** Columns that are text, whatever is published. */
  readonly textColumns?: readonly string[] | undefined;
}

/** What the bytes of an input say about its encoding. */
export interface InputBytes {
  readonly isAscii: boolean;
  /** Whether a byte order mark names the encoding. */
  readonly hasMark: boolean;
}

/** The settings of the lake's files that an export depends on. */
export type LakeCsv = Pick<
  CsvSettings,
  'delimiter' | 'nested' | 'separator' | 'lineBreaks' | 'escapeFormulas'
>;

interface ResolveOptions {
  readonly format: InputFormat;
  readonly types: TypeSources;
  readonly csv: LakeCsv;
  readonly keyColumn: string | null;
  readonly bytes: InputBytes;
  /** Whether the CSV was made of a sheet. */
  readonly isSheet: boolean;
  /** Collects errors of settings that do not fit; `null`: the first one is thrown. */
  readonly problems: InputProblems | null;
  /** Whether the date formats are those of the command, so that one of them must fit. Those of the configuration concern each file. */
  readonly needsDates: boolean;
}

/**
 * Finds how an input is to be read. Only settings that change what is sent become part of the batch's identity, so that the
 * same rows are the same batch.
 *
 * @returns `settings`: these settings as text
 * @throws InputError for an invalid setting, and for an input that does not show its delimiter
 */
export async function resolveReading(
  source: InputSource,
  given: ReadingOptions,
  { format, types, csv, keyColumn, bytes, isSheet, problems, needsDates }: ResolveOptions,
): Promise<{ readonly reading: InputReading; readonly settings: string }> {
  const { encoding: declared, delimiter, clear } = await textReading(source, given, format, csv.delimiter);
  const base: InputReading = {
    ...PLAIN_READING,
    encoding: declared,
    delimiter,
    decimalComma: given.decimalComma ?? false,
    dates: datesOf(given, types),
    drop: given.dropColumns ?? [],
    text: given.textColumns ?? [],
    ...conversionsOf(given),
    ...(isSheet ? { lines: 'records' } : {}),
    flattened: csv.nested === 'flatten' ? csv.separator : null,
    escaped: { lineBreaks: csv.lineBreaks, escapeFormulas: csv.escapeFormulas },
  };
  // Errors of cells are found when the rows are checked.
  const facts = new InputFacts(problems && new InputProblems());
  const seen = await survey(source, base, { format, types, keyColumn, facts });
  const dates =
    new InputFacts(problems).attempt(() => usedDates(base, facts, needsDates && seen.rows > 0)) ?? null;
  const reading = { ...base, dates };
  const isDecoded =
    declared !== null && declared !== 'utf-8' && !bytes.hasMark && !(bytes.isAscii && hasAscii(declared));
  const settings = {
    ...(delimiter === clear ? {} : { delimiter }),
    ...(facts.decimalCommas > 0 ? { decimalComma: true } : {}),
    ...usedConversions(reading, facts),
    ...(reading.dates === null ? {} : { formats: reading.dates.formats, timezone: reading.dates.timezone }),
    ...listOf('drop', sentColumns(facts.dropped)),
    ...listOf(
      'text',
      base.text.filter((name) => seen.columns.has(name)),
    ),
    ...(isDecoded ? { encoding: declared } : {}),
  };
  return { reading, settings: Object.keys(settings).length === 0 ? '' : JSON.stringify(settings) };
}

/**
 * Finds encoding and delimiter of an input.
 *
 * @returns `clear`: the delimiter that the header shows; `null` if it does not
 * @throws InputError for an invalid setting, and for an input that does not show its delimiter
 */
export async function textReading(
  source: InputSource,
  given: Pick<ReadingOptions, 'encoding' | 'delimiter'>,
  format: InputFormat,
  lakeDelimiter: string,
): Promise<Pick<InputReading, 'encoding' | 'delimiter'> & { readonly clear: string | null }> {
  const encoding = given.encoding === undefined ? null : encodingOf(given.encoding);
  const wanted = given.delimiter === undefined ? null : delimiterOf(given.delimiter);
  const clear = await delimiterIn(source, format, encoding, lakeDelimiter).catch((error: unknown) => {
    if (wanted === null || !(error instanceof InputError)) throw error;
    return null;
  });
  return { encoding, delimiter: wanted ?? clear!, clear };
}

/** Other names, words and units of an input. */
function conversionsOf({ map = {}, trueWords = [], falseWords = [], units = {} }: ReadingOptions) {
  const read = Object.entries(units).map(([field, unit]) => [field, unitOf(field, unit)] as const);
  const hasWords = trueWords.length + falseWords.length > 0;
  return {
    ...(Object.keys(map).length === 0 ? {} : { map }),
    ...(hasWords ? { words: { true: trueWords, false: falseWords } } : {}),
    ...(read.length === 0 ? {} : { units: Object.fromEntries(read) }),
  };
}

/** Those that have changed something. */
function usedConversions(
  { map = {}, units = {} }: InputReading,
  { mapped, inUnits, words: { true: yes, false: no } }: InputFacts,
) {
  const words = { true: [...yes].sort(), false: [...no].sort() };
  const renamed = [...mapped].filter((name) => map[name] !== name);
  return {
    ...someOf('map', map, new Set(renamed)),
    ...(yes.size + no.size === 0 ? {} : { words }),
    ...someOf('units', units, inUnits),
  };
}

function someOf(name: string, all: Readonly<Record<string, unknown>>, used: ReadonlySet<string>): object {
  const found = Object.keys(all)
    .filter((key) => used.has(key))
    .sort();
  return found.length === 0 ? {} : { [name]: Object.fromEntries(found.map((key) => [key, all[key]])) };
}

function listOf(name: string, values: readonly string[]): Record<string, readonly string[]> {
  return values.length === 0 ? {} : { [name]: [...values].sort() };
}

/** Metadata columns are never sent, so leaving them out changes nothing, except that deleted rows are sent. */
function sentColumns(dropped: ReadonlySet<string>): string[] {
  return [...dropped].filter(
    (name) => name === '_deleted_at' || !(META_COLUMNS as readonly string[]).includes(name),
  );
}

/** Whether ASCII bytes are the same characters as in UTF-8. */
function hasAscii(encoding: string): boolean {
  return !encoding.startsWith('utf-16') && encoding !== 'iso-2022-jp';
}

/** The delimiter that the header of a CSV shows. @throws InputError if it is not clear */
async function delimiterIn(
  source: InputSource,
  format: InputFormat,
  declared: string | null,
  lakeDelimiter: string,
): Promise<string> {
  return format === 'csv' ? findDelimiter(await headText(source.open(), declared), lakeDelimiter) : ',';
}

function datesOf({ dateFormats = [], timezone }: ReadingOptions, types: TypeSources): InputReading['dates'] {
  if (dateFormats.length === 0) return null;
  const columns = types.published
    .filter((column) => isIsoForm(publishedForm(column)))
    .map(({ name }) => name);
  return { formats: dateFormats, timezone: timezone ?? null, columns };
}

/** Reads the input once to see which settings have an effect, if there are any. */
async function survey(
  source: InputSource,
  reading: InputReading,
  {
    format,
    types,
    keyColumn,
    facts,
  }: Pick<ResolveOptions, 'format' | 'types' | 'keyColumn'> & { readonly facts: InputFacts },
) {
  let columns: readonly InputColumn[] = [];
  let rows = 0;
  const { decimalComma, dates, drop, text, map, words, units } = reading;
  const converts =
    decimalComma || dates !== null || map !== undefined || words !== undefined || units !== undefined;
  if (converts || drop.length > 0 || (text.length > 0 && format === 'csv')) {
    const onColumns = (found: readonly InputColumn[]): void => {
      columns = found;
    };
    const options = { format, types, reading, keyColumn, facts, onColumns };
    for await (const some of readInputRows(source.open(), options)) rows += some.length;
  }
  return { rows, columns: new Set(columns.map(({ name }) => fromByteString(name))) };
}

/** The date formats with all of their columns; `null` if there is nothing to convert. */
function usedDates({ dates }: InputReading, facts: InputFacts, isNeeded: boolean): InputReading['dates'] {
  if (dates === null) return null;
  if (facts.dates === 0 && facts.dateLike.size === 0) {
    if (!isNeeded || facts.isoDates > 0) return null;
    throw new InputError(
      `no cell has the date format ${dates.formats.map((one) => JSON.stringify(one)).join(' or ')}`,
      { remedy: 'Correct --date-format, or leave it out.' },
    );
  }
  return { ...dates, columns: [...dates.columns, ...facts.dateLike] };
}
