import type { InputFormat, SystemPolicy, WritableResource } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import { CORRECTION_COLUMNS } from './fields.js';
import { isExport, withoutType } from './input-columns.js';
import { encodingOf, type FileFormat, formatOf, headerWords, headText } from './input-format.js';
import type { InputProblems } from './input-problems.js';
import { type InputSource, openSource } from './input-source.js';
import { ownValue } from './reading.js';
import type { ReadingOptions } from './resolve-reading.js';
import type { OpenedWorkbook } from './sheet/index.js';

export interface WriteBackSource extends ReadingOptions {
  readonly resource: string;
  /** A path, a `file://` or an `s3://` URL. */
  readonly file: string;
  /** Default: by the file's extension. */
  readonly format?: FileFormat | undefined;
  /** The column with the row's key. Default: the key is a hash of the content. */
  readonly keyColumn?: string | undefined;
  /** Of calendar entries with the same key and other content, send the last one. Default: they are an error. */
  readonly lastWins?: boolean | undefined;
  /** Leave out upserts that would change nothing. Default: they are sent. */
  readonly skipUnchanged?: boolean | undefined;
  /** Default: the SHA-256 of resource and content. */
  readonly batchId?: string | undefined;
  /** What an unknown address is that rows of the file were written to. Default: an error. */
  readonly system?: SystemPolicy | undefined;
}

/** An input as text, and how it is to be read. */
export interface OpenedInput {
  readonly source: InputSource;
  readonly format: InputFormat;
  readonly keyColumn: string | null;
  /** What the user says, and the configuration if it concerns the file. */
  readonly given: ReadingOptions;
  /** Of a sheet: the cells that have no value to send. */
  readonly sheet: { readonly problems: InputProblems } | null;
}

/**
 * Opens an input. A sheet of a workbook is made a CSV. The options of the request replace those of the configuration
 * (`writeBack.<resource>.input`), which concern neither JSON nor files that this package has written: exports, and rows to correct.
 *
 * @throws InputError for a file that cannot be read, and for options that do not fit; ConfigurationError if a package is missing
 */
export async function openInput(
  request: WriteBackSource,
  { lake, writeBack }: Pick<ConnectionSettings, 'lake' | 'writeBack'>,
  resource: WritableResource,
): Promise<OpenedInput> {
  const source = await openSource(request.file, lake);
  try {
    const format = request.format ?? formatOf(source.name);
    checkOptions(request, format);
    const profile = writeBack[resource].input ?? {};
    if (format === 'xlsx') return await openSheet(source, request, profile);
    const isOwn = format !== 'csv' || (await isOwnText(source, request));
    const { given, keyColumn } = merged(request, isOwn ? {} : profile);
    checkTimezone(request, given);
    return { source, format, keyColumn, given, sheet: null };
  } catch (error) {
    source.close();
    throw error;
  }
}

type Profile = NonNullable<ConnectionSettings['writeBack'][WritableResource]['input']>;

async function openSheet(
  source: InputSource,
  request: WriteBackSource,
  profile: Profile,
): Promise<OpenedInput> {
  const { openWorkbook } = await import('./sheet/index.js');
  const workbook = await openWorkbook(source.open());
  source.close();
  const { given, keyColumn } = merged(request, await profileOfSheet(workbook, request, profile));
  const isDropped = (header: string): boolean => isDroppedColumn(header, given, keyColumn);
  const { csv, problems } = workbook.toCsv({ ...given, isDropped });
  const { dateFormats = [], timezone } = given;
  const ofText = {
    delimiter: ',',
    encoding: undefined,
    timezone: dateFormats.length > 0 ? timezone : undefined,
  };
  return {
    ...{ source: textSource(source.name, csv), format: 'csv', keyColumn },
    ...{ given: { ...given, ...ofText }, sheet: { problems } },
  };
}

/** What of a profile concerns the sheet that is read. */
async function profileOfSheet(
  workbook: OpenedWorkbook,
  request: ReadingOptions,
  profile: Profile,
): Promise<Profile> {
  const isOwn = (one: string | undefined): Promise<boolean> =>
    orFalse(() => isOwnHeader(new Set(workbook.header(one))));
  if (await isOwn(request.sheet)) return {};
  const { sheet } = profile;
  if (sheet === undefined || request.sheet !== undefined) return profile;
  return (await isOwn(sheet)) ? { sheet } : profile;
}

/** Whether columns are those of an export, or of rows to correct. The configuration describes other files. */
function isOwnHeader(names: ReadonlySet<string>): boolean {
  return isExport([...names]) || names.has(CORRECTION_COLUMNS[0]);
}

/** Whether a CSV has such a header. @param request its options alone, because they decide how the header is read */
function isOwnText(source: InputSource, { encoding }: ReadingOptions): Promise<boolean> {
  return orFalse(async () => {
    const declared = encoding === undefined ? null : encodingOf(encoding);
    return isOwnHeader(headerWords(await headText(source.open(), declared)));
  });
}

/** An input with an error is not known to be our own. What reads it completely reports the error. */
async function orFalse(work: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InputError) return false;
    throw error;
  }
}

/** The options of a request, and where it has none, those of a profile. Maps are merged. */
function merged(
  request: WriteBackSource,
  profile: Profile,
): { readonly given: ReadingOptions; readonly keyColumn: string | null } {
  const set = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
  const given = {
    ...{ ...profile, ...(set as ReadingOptions) },
    map: { ...profile.map, ...request.map },
    units: { ...profile.units, ...request.units },
  };
  return { given, keyColumn: request.keyColumn ?? profile.keyColumn ?? null };
}

/** Whether a column is left out. A key column is read, even if its values are not sent. */
function isDroppedColumn(
  header: string,
  { dropColumns = [], map = {} }: ReadingOptions,
  keyColumn: string | null,
): boolean {
  const shown = ownValue(map, header) ?? header;
  const names = [header, shown, withoutType(shown)];
  return names.some((name) => dropColumns.includes(name)) && !names.some((name) => name === keyColumn);
}

/** Options by the formats that have them. */
const OPTIONS: readonly (readonly [
  option: string,
  key: keyof ReadingOptions,
  formats: readonly FileFormat[],
])[] = [
  ['delimiter', 'delimiter', ['csv']],
  ['encoding', 'encoding', ['csv', 'json', 'ndjson']],
  ['sheet', 'sheet', ['xlsx']],
  ['map', 'map', ['csv', 'xlsx']],
  ['true', 'trueWords', ['csv', 'xlsx']],
  ['false', 'falseWords', ['csv', 'xlsx']],
  ['unit', 'units', ['csv', 'xlsx']],
];

function checkOptions(given: ReadingOptions, format: FileFormat): void {
  const wrong = OPTIONS.find(([, key, formats]) => given[key] !== undefined && !formats.includes(format));
  if (wrong === undefined) return;
  const [option, , formats] = wrong;
  throw new InputError(`--${option} is an option for ${formats.join(' and ')}, and the format is ${format}`, {
    remedy: `Leave --${option} out.`,
  });
}

function checkTimezone({ timezone }: ReadingOptions, { dateFormats = [] }: ReadingOptions): void {
  if (timezone !== undefined && dateFormats.length === 0)
    throw new InputError('--timezone is only used with --date-format', { remedy: 'Set --date-format too.' });
}

function textSource(name: string, text: Buffer): InputSource {
  return {
    name,
    open: async function* () {
      yield text;
    },
    close: () => {},
  };
}
