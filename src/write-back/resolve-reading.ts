import { fromByteString } from '../core/brands.js';
import type { InputFormat, InputReading } from '../core/contract/write-back.js';
import type { CsvSettings } from '../core/settings.js';
import { META_COLUMNS } from '../lake/rows/data-columns.js';
import { formOf, type InputColumn, isIsoForm, type TypeSources } from './input-columns.js';
import { InputError } from './input-error.js';
import { decodeInput, delimiterOf, encodingOf, findDelimiter, markOf } from './input-format.js';
import { readRows } from './input-rows.js';
import type { InputSource } from './input-source.js';
import { InputFacts, PLAIN_READING } from './reading.js';

/** What a user says about the text of an input. */
export interface ReadingOptions {
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
  /** Columns that are left out. */
  readonly dropColumns?: readonly string[] | undefined;
  /** Columns that are text, whatever is published. */
  readonly textColumns?: readonly string[] | undefined;
}

/** A reading, and which of the user's settings change what is sent. */
export interface ResolvedReading {
  readonly reading: InputReading;
  /** Settings that are part of the batch's identity; those of the encoding depend on whether the input is ASCII. */
  settingsOf(input: { readonly isAscii: boolean }): string;
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
}

/**
 * Finds how an input is to be read. Only settings that change what is sent become part of the batch's identity, so that the
 * same rows are the same batch.
 *
 * @throws InputError for an invalid setting, and for an input that does not show its delimiter
 */
export async function resolveReading(
  source: InputSource,
  given: ReadingOptions,
  { format, types, csv, keyColumn }: ResolveOptions,
): Promise<ResolvedReading> {
  checkOptions(given, format);
  const declared = given.encoding === undefined ? null : encodingOf(given.encoding);
  const head = await readHead(source, format, declared, csv.delimiter);
  const delimiter = given.delimiter === undefined ? head.delimiter() : delimiterOf(given.delimiter);
  const base: InputReading = {
    ...PLAIN_READING,
    encoding: declared,
    delimiter,
    decimalComma: given.decimalComma ?? false,
    dates: datesOf(given, types),
    drop: given.dropColumns ?? [],
    text: given.textColumns ?? [],
    flattened: csv.nested === 'flatten' ? csv.separator : null,
    escaped: { lineBreaks: csv.lineBreaks, escapeFormulas: csv.escapeFormulas },
  };
  const seen = await survey(source, base, { format, types, keyColumn });
  const { facts } = seen;
  const reading = { ...base, dates: usedDates(base, facts, seen.rows) };
  const settings = {
    ...(given.delimiter !== undefined && delimiter !== head.clearDelimiter ? { delimiter } : {}),
    ...(facts.decimalCommas > 0 ? { decimalComma: true } : {}),
    ...(reading.dates === null ? {} : { formats: reading.dates.formats, timezone: reading.dates.timezone }),
    ...listOf('drop', sentColumns(facts.dropped)),
    ...listOf(
      'text',
      base.text.filter((name) => seen.columns.has(name)),
    ),
  };
  return {
    reading,
    settingsOf: ({ isAscii }) => {
      const isUsed =
        declared !== null && declared !== 'utf-8' && !head.hasMark && !(isAscii && hasAscii(declared));
      const all = isUsed ? { ...settings, encoding: declared } : settings;
      return Object.keys(all).length === 0 ? '' : JSON.stringify(all);
    },
  };
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

function checkOptions(given: ReadingOptions, format: InputFormat): void {
  if (given.timezone !== undefined && (given.dateFormats ?? []).length === 0)
    throw new InputError('--timezone is only used with --date-format', null, 'Set --date-format too.');
  if (format !== 'csv' && given.delimiter !== undefined)
    throw new InputError(
      `a delimiter is a setting of a CSV, and the format is ${format}`,
      null,
      'Leave --delimiter out.',
    );
}

interface InputHead {
  /** @throws InputError if it is not clear */
  delimiter(): string;
  /** `null` if it is not clear. */
  readonly clearDelimiter: string | null;
  /** Whether a byte order mark names the encoding. */
  readonly hasMark: boolean;
}

async function readHead(
  source: InputSource,
  format: InputFormat,
  declared: string | null,
  lakeDelimiter: string,
): Promise<InputHead> {
  let first = '';
  async function* noted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.open()) {
      if (first.length < MARK_BYTES) first += Buffer.from(chunk).toString('latin1', 0, MARK_BYTES);
      yield chunk;
    }
  }
  let found: string | null = format === 'csv' ? null : ',';
  let error: unknown = null;
  let text = '';
  try {
    for await (const some of decodeInput(noted(), declared)) {
      text += some;
      found ??= findDelimiter(text, lakeDelimiter, 'open');
      if (found !== null || text.length > MAX_HEADER_BYTES) break;
    }
    found ??= findDelimiter(text, lakeDelimiter, 'end');
  } catch (thrown) {
    if (!(thrown instanceof InputError) || text === '') throw thrown;
    error = thrown;
  }
  const delimiter = (): string => {
    if (found === null) throw error;
    return found;
  };
  return { delimiter, clearDelimiter: found, hasMark: markOf(first) !== null };
}

/** The longest byte order mark. */
const MARK_BYTES = 4;
/** A header that is longer has no end, and the parser says so. */
const MAX_HEADER_BYTES = 8 * 1024 * 1024;

function datesOf({ dateFormats = [], timezone }: ReadingOptions, types: TypeSources): InputReading['dates'] {
  if (dateFormats.length === 0) return null;
  const columns = types.published.filter((column) => isIsoForm(formOf(column))).map(({ name }) => name);
  return { formats: dateFormats, timezone: timezone ?? null, columns };
}

interface Survey {
  readonly facts: InputFacts;
  readonly rows: number;
  readonly columns: ReadonlySet<string>;
}

/** Reads the input once to see which settings have an effect, if there are any. */
async function survey(
  source: InputSource,
  reading: InputReading,
  { format, types, keyColumn }: Omit<ResolveOptions, 'csv'>,
): Promise<Survey> {
  const facts = new InputFacts();
  let columns: readonly InputColumn[] = [];
  let rows = 0;
  const { decimalComma, dates, drop, text } = reading;
  if (decimalComma || dates !== null || drop.length > 0 || (text.length > 0 && format === 'csv')) {
    const onColumns = (found: readonly InputColumn[]): void => {
      columns = found;
    };
    const options = { format, types, reading, keyColumn, facts, onColumns };
    for await (const some of readRows(source.open(), options)) rows += some.length;
  }
  return { facts, rows, columns: new Set(columns.map(({ name }) => fromByteString(name))) };
}

/** The date formats with all of their columns; `null` if there is nothing to convert. */
function usedDates({ dates }: InputReading, facts: InputFacts, rows: number): InputReading['dates'] {
  if (dates === null) return null;
  if (facts.dates === 0 && facts.dateLike.size === 0) {
    if (rows === 0 || facts.isoDates > 0) return null;
    throw new InputError(
      `no cell has the date format ${dates.formats.map((one) => JSON.stringify(one)).join(' or ')}`,
      null,
      'Correct --date-format, or leave it out.',
    );
  }
  return { ...dates, columns: [...dates.columns, ...facts.dateLike] };
}
