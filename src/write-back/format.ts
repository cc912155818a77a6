import { INPUT_FORMATS, type InputFormat } from '../core/contract/write-back.js';
import { InputError } from './input-error.js';

const BY_EXTENSION: Readonly<Record<string, InputFormat>> = {
  csv: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
};

/** The format by a file's extension. @throws InputError for an unknown extension */
export function formatOf(name: string): InputFormat {
  const extension = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = BY_EXTENSION[extension];
  if (format !== undefined) return format;
  throw new InputError(
    `the format of the input cannot be determined from its name ${JSON.stringify(name)}`,
    null,
    `Set it with --format: ${INPUT_FORMATS.join(', ')}.`,
  );
}

const UTF8_BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** First bytes of unsupported files. */
const UNSUPPORTED: readonly (readonly [start: string, what: string])[] = [
  ['\xff\xfe', 'the input is UTF-16; save it as UTF-8'],
  ['\xfe\xff', 'the input is UTF-16; save it as UTF-8'],
  ['\x1f\x8b', 'the input is compressed with gzip; unpack it first'],
  ['PK\x03\x04', 'the input is a zip archive or a spreadsheet; save it as CSV'],
];

/**
 * Decodes an input to one character per byte, without a byte order mark.
 *
 * @throws InputError for UTF-16, gzip and zip, and for an input that has only white space
 */
export async function* decodeInput(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let head: string | null = '';
  let blank = true;
  for await (const chunk of chunks) {
    let text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    if (head !== null) {
      head += text;
      if (head.length < 4) continue;
      text = withoutByteOrderMark(head);
      head = null;
    }
    blank &&= !/\S/.test(text);
    yield text;
  }
  if (head !== null) {
    const text = withoutByteOrderMark(head);
    blank &&= !/\S/.test(text);
    yield text;
  }
  if (blank)
    throw new InputError(
      'the input is empty',
      null,
      'A CSV needs at least a header, a JSON input at least `[]`.',
    );
}

function withoutByteOrderMark(head: string): string {
  for (const [start, what] of UNSUPPORTED) if (head.startsWith(start)) throw new InputError(what);
  return head.startsWith(UTF8_BYTE_ORDER_MARK) ? head.slice(UTF8_BYTE_ORDER_MARK.length) : head;
}
