import type { InputFormat, SystemPolicy, WritableResource } from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import { InputError } from './input-error.js';
import { type FileFormat, formatOf } from './input-format.js';
import type { InputProblems } from './input-problems.js';
import { type InputSource, openSource } from './input-source.js';
import type { ReadingOptions } from './resolve-reading.js';

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
  /** What the user and the configuration say. */
  readonly given: ReadingOptions;
  /** Of a sheet: the cells that have no value to send. */
  readonly sheet: { readonly problems: InputProblems } | null;
}

/**
 * Opens an input. A sheet of a workbook is made a CSV. The options of the request replace those of the configuration
 * (`writeBack.<resource>.input`), which concern no JSON.
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
    const profile = format === 'json' || format === 'ndjson' ? {} : (writeBack[resource].input ?? {});
    checkOptions(request, format);
    const given = merged(request, profile);
    const keyColumn = request.keyColumn ?? profile.keyColumn ?? null;
    if (format !== 'xlsx') {
      checkTimezone(request, given);
      return { source, format, keyColumn, given, sheet: null };
    }
    const { sheetToCsv } = await import('./sheet/index.js');
    const options = { ...given, isDropped: (header: string) => isDropped(header, given) };
    const { csv, problems } = await sheetToCsv(await bytesOf(source), options);
    source.close();
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
  } catch (error) {
    source.close();
    throw error;
  }
}

/** The options of a request, and where it has none, those of a profile. Maps are merged. */
function merged(request: ReadingOptions, profile: ReadingOptions): ReadingOptions {
  const set = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
  return {
    ...{ ...profile, ...(set as ReadingOptions) },
    map: { ...profile.map, ...request.map },
    units: { ...profile.units, ...request.units },
  };
}

function isDropped(header: string, { dropColumns = [], map = {} }: ReadingOptions): boolean {
  const shown = Object.hasOwn(map, header) ? map[header]! : header;
  const names = [header, shown, shown.slice(0, shown.lastIndexOf(':'))];
  return names.some((name) => dropColumns.includes(name));
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

async function bytesOf(source: InputSource): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.open()) chunks.push(chunk);
  return Buffer.concat(chunks);
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
