import { isUtf8 } from 'node:buffer';
import { type ByteString, toByteString } from '../core/brands.js';
import { INPUT_FORMATS, type InputFormat } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';

/** The format of a file: a sheet of a workbook becomes a CSV (`sheetToCsv`). */
export type FileFormat = InputFormat | 'xlsx';

const FILE_FORMATS: readonly FileFormat[] = [...INPUT_FORMATS, 'xlsx'];

const BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  tab: 'csv',
  txt: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  xlsx: 'xlsx',
  xlsm: 'xlsx',
};

const SPREADSHEETS: Readonly<Record<string, string>> = {
  xlsx: 'an Excel workbook (.xlsx)',
  xlsb: 'an Excel workbook (.xlsb)',
  xls: 'an Excel workbook of the old format (.xls), or one with a password',
  ods: 'an OpenDocument spreadsheet (.ods)',
  numbers: 'a Numbers spreadsheet (.numbers)',
};

/** The format by a file's extension. @throws InputError for a spreadsheet and for an unknown extension */
export function formatOf(name: string): FileFormat {
  const extension = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = BY_EXTENSION[extension];
  if (format !== undefined) return format;
  const spreadsheet = SPREADSHEETS[extension];
  if (spreadsheet !== undefined) throw spreadsheetError(spreadsheet);
  throw new InputError(`the format of the input cannot be determined from its name ${JSON.stringify(name)}`, {
    remedy: `Set it with --format: ${FILE_FORMATS.join(', ')}.`,
  });
}

/**
 * Checks that the first bytes of an input can be text. A spreadsheet is recognized by its content, whatever its name is.
 *
 * @param head one character per byte
 * @throws InputError for a spreadsheet, another zip archive, and gzip
 */
function checkIsText(head: string): void {
  if (head.startsWith('\x1f\x8b')) throw new InputError('the input is compressed with gzip; unpack it first');
  if (head.startsWith('\xd0\xcf\x11\xe0')) throw spreadsheetError(SPREADSHEETS.xls!);
  if (!head.startsWith('PK\x03\x04') && !head.startsWith('PK\x05\x06')) return;
  if (head.includes('opendocument.spreadsheet')) throw spreadsheetError(SPREADSHEETS.ods!);
  if (head.includes('[Content_Types].xml') || head.includes('xl/'))
    throw spreadsheetError(SPREADSHEETS.xlsx!, 'Set --format xlsx.');
  if (head.includes('Index/') || head.includes('.iwa')) throw spreadsheetError(SPREADSHEETS.numbers!);
  throw spreadsheetError('a zip archive or a spreadsheet');
}

function spreadsheetError(what: string, remedy?: string): InputError {
  return new InputError(`the input is ${what}, not text`, {
    remedy:
      remedy ??
      'Save it as .xlsx, or the sheet as CSV UTF-8. Excel: File > Save As > CSV UTF-8 (Comma delimited). LibreOffice: File > Save As > Text CSV, ' +
        'character set UTF-8. Google Sheets: File > Download > Comma Separated Values. Numbers: File > Export To > CSV.',
  });
}

/** Byte order marks. UTF-32 begins with the mark of UTF-16, so it comes first. */
const MARKS: readonly (readonly [mark: string, encoding: string | null])[] = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xff\xfe\x00\x00', null],
  ['\x00\x00\xfe\xff', null],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
];

/** Bytes that are needed to recognize an encoding, and the longest byte order mark. */
export const HEAD_BYTES = 4;

/**
 * The standard name of an encoding, such as `windows-1252` for `latin1` (WHATWG Encoding Standard, "Names and labels").
 *
 * @throws InputError for an unknown name
 */
export function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw new InputError(`${JSON.stringify(label)} is not an encoding`, {
      remedy: 'Use a name such as utf-8, windows-1252, iso-8859-15, utf-16le or macintosh.',
    });
  }
}

/**
 * The encoding that a byte order mark names, and the mark's length; `null` without one.
 *
 * @param head the first bytes, one character per byte
 * @throws InputError for UTF-32
 */
export function markOf(head: string): { readonly encoding: string; readonly length: number } | null {
  const found = MARKS.find(([mark]) => head.startsWith(mark));
  if (found === undefined) return null;
  const [mark, encoding] = found;
  if (encoding === null) throw new InputError('the input is UTF-32', { remedy: 'Save the file as UTF-8.' });
  return { encoding, length: mark.length };
}

/**
 * Decodes an input to UTF-8 with one character per byte, without a byte order mark. A mark has precedence over `declared`.
 *
 * @param declared a name as `encodingOf` returns it; `null`: UTF-8
 * @throws InputError for a spreadsheet, gzip, bytes that the encoding does not have, and an input that has only white space.
 *   Bytes that are not UTF-8 are left to the parsers, which know the line.
 */
export async function* decodeInput(
  chunks: AsyncIterable<Uint8Array>,
  declared: string | null = null,
): AsyncGenerator<ByteString> {
  let head = '';
  let decode: ((bytes: string, last: boolean) => ByteString) | null = null;
  let blank = true;
  for await (const chunk of chunks) {
    let text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    if (decode === null) {
      head += text;
      if (head.length < HEAD_BYTES) continue;
      [decode, text] = begin(head, declared);
    }
    const decoded = decode(text, false);
    blank &&= !/\S/.test(decoded);
    yield decoded;
  }
  let rest = '';
  if (decode === null) [decode, rest] = begin(head, declared);
  const decoded = decode(rest, true);
  blank &&= !/\S/.test(decoded);
  yield decoded;
  if (blank)
    throw new InputError('the input is empty', {
      remedy: 'A CSV needs at least a header, a JSON input at least `[]`.',
    });
}

function begin(
  head: string,
  declared: string | null,
): [decode: (bytes: string, last: boolean) => ByteString, rest: string] {
  checkIsText(head);
  const mark = markOf(head);
  const encoding = mark?.encoding ?? declared ?? 'utf-8';
  if (mark === null && declared === null) checkNotUtf16(head);
  return [decoderOf(encoding), head.slice(mark?.length ?? 0)];
}

function decoderOf(encoding: string): (bytes: string, last: boolean) => ByteString {
  if (encoding === 'utf-8') return (bytes) => bytes as ByteString;
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes, last) => {
    try {
      return toByteString(decoder.decode(Buffer.from(bytes, 'latin1'), { stream: !last }));
    } catch {
      throw new InputError(`the text is not ${encoding}`, {
        remedy: 'Save the file as UTF-8, or correct --encoding.',
      });
    }
  };
}

/** Whether bytes are UTF-8. @param text one character per byte */
export function isUtf8Text(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds bytes outside ASCII
  return !/[^\x00-\x7f]/.test(text) || isUtf8(Buffer.from(text, 'latin1'));
}

/** Text in UTF-16 has a zero byte for each ASCII character. */
function checkNotUtf16(head: string): void {
  const zeros = [...head.slice(0, HEAD_BYTES)].map((byte) => (byte === '\0' ? '0' : 'x')).join('');
  const little = zeros === 'x0x0';
  if (!little && zeros !== '0x0x') return;
  throw new InputError('the input seems to be UTF-16 without a byte order mark', {
    remedy: `Save the file as UTF-8, or set --encoding ${little ? 'utf-16le' : 'utf-16be'}.`,
  });
}

/** Delimiters that are found in a header. */
const DELIMITERS = [',', ';', '\t', '|'] as const;

const NAMES: Readonly<Record<string, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' };

/** A delimiter for messages. */
export function shownDelimiter(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : JSON.stringify(delimiter);
}

/** The name of a delimiter, as a configuration has it. @throws InputError for a text that is none */
export function delimiterName(text: string): string {
  const delimiter = delimiterOf(text);
  return NAMES[delimiter] ?? delimiter;
}

/** Reads the value of `--delimiter`: the character, or its name. @throws InputError for any other text */
export function delimiterOf(text: string): string {
  const named = text === '\\t' ? '\t' : DELIMITERS.find((one) => NAMES[one] === text.toLowerCase());
  const found = named ?? DELIMITERS.find((one) => one === text);
  if (found !== undefined) return found;
  throw new InputError(`${JSON.stringify(text)} is not a delimiter`, {
    remedy: 'The delimiters are "," ";" "tab" and "|".',
  });
}

const SEP_LINE = /^"?sep=(.)"?$/i;

/** The delimiter in a line such as `sep=;`, which Excel writes and reads; `null` for any other line. */
export function sepLine(line: string): string | null {
  return SEP_LINE.exec(line)?.[1] ?? null;
}

/** A header that is longer has no end, and the parser says so. */
const MAX_HEADER_BYTES = 8 * 1024 * 1024;

/** The beginning of a text, with its whole header. @throws InputError as `decodeInput` */
export async function headText(chunks: AsyncIterable<Uint8Array>, declared: string | null): Promise<string> {
  let text = '';
  for await (const some of decodeInput(chunks, declared)) {
    text += some;
    if (text.length > MAX_HEADER_BYTES) break;
  }
  return text;
}

/** The words in the header of a CSV: letters of ASCII, digits and `_`, whatever the delimiter is. */
export function headerWords(text: string): ReadonlySet<string> {
  let header = '';
  for (const { character } of headerCharacters(text)) header += character;
  return new Set(header.match(/\w+/g));
}

/** The characters of the header, without its end. */
function* headerCharacters(text: string) {
  let isQuoted = false;
  for (let { at } = headerStart(text); at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '\n' || character === '\r')) return;
    yield { character, isQuoted };
  }
}

function isDelimiter(character: string, more: string): boolean {
  return character === more || (DELIMITERS as readonly string[]).includes(character);
}

interface HeaderStart {
  readonly at: number;
  readonly line: number;
  /** Of a line such as `sep=;` before the header. */
  readonly sep: { readonly character: string; readonly line: number } | null;
}

function headerStart(text: string): HeaderStart {
  const lines = /([^\r\n]*)(?:\r\n?|\n|$)/y;
  let at = 0;
  let sep: HeaderStart['sep'] = null;
  for (let line = 1; ; line++) {
    const [whole, first = ''] = lines.exec(text)!;
    const character = sepLine(first);
    if (character !== null) sep ??= { character, line };
    if ((first.trim() !== '' && character === null) || at + whole.length === text.length)
      return { at, line, sep };
    at += whole.length;
  }
}

/**
 * Finds the delimiter of a CSV in its beginning: in a `sep=` line, or in the header, outside of quotes. A header without
 * any delimiter has one column.
 *
 * @param more a further delimiter, that of the lake
 * @throws InputError if the header has several of them
 */
export function findDelimiter(text: string, more: string): string {
  const { line, sep } = headerStart(text);
  if (sep !== null) return checkedSep(sep.character, more, sep.line);
  const found = new Set<string>();
  for (const { character, isQuoted } of headerCharacters(text))
    if (!isQuoted && isDelimiter(character, more)) found.add(character);
  const [only = ',', ...others] = found;
  if (others.length === 0) return only;
  throw new InputError(
    `the delimiter is not clear: the header has ${[...found].map(shownDelimiter).join(' and ')}`,
    { line, remedy: 'Set it with --delimiter, or put names that contain one in quotes.' },
  );
}

function checkedSep(sep: string, more: string, line: number): string {
  if (isDelimiter(sep, more)) return sep;
  throw new InputError(`the line sep=${sep} names a delimiter that is not supported`, {
    line,
    remedy: 'The delimiters are "," ";" tab and "|".',
  });
}
