import { type ByteString, toByteString } from '../core/brands.js';
import { checkIsText } from './format.js';
import { InputError } from './input-error.js';

/** Byte order marks. UTF-32 begins with the mark of UTF-16, so it comes first. */
const MARKS: readonly (readonly [mark: string, encoding: string | null])[] = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xff\xfe\x00\x00', null],
  ['\x00\x00\xfe\xff', null],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
];

/** Bytes that are needed to recognize an encoding. */
const HEAD_BYTES = 4;

/**
 * The standard name of an encoding, such as `windows-1252` for `latin1` (WHATWG Encoding Standard, "Names and labels").
 *
 * @throws InputError for an unknown name
 */
export function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw new InputError(
      `${JSON.stringify(label)} is not an encoding`,
      null,
      'Use a name such as utf-8, windows-1252, iso-8859-15, utf-16le or macintosh.',
    );
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
  if (encoding === null) throw new InputError('the input is UTF-32', null, 'Save the file as UTF-8.');
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
    throw new InputError(
      'the input is empty',
      null,
      'A CSV needs at least a header, a JSON input at least `[]`.',
    );
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
      throw new InputError(
        `the text is not ${encoding}`,
        null,
        'Save the file as UTF-8, or correct --encoding.',
      );
    }
  };
}

/** Text in UTF-16 has a zero byte for each ASCII character. */
function checkNotUtf16(head: string): void {
  const zeros = [...head.slice(0, HEAD_BYTES)].map((byte) => (byte === '\0' ? '0' : 'x')).join('');
  const little = zeros === 'x0x0';
  if (!little && zeros !== '0x0x') return;
  throw new InputError(
    'the input seems to be UTF-16 without a byte order mark',
    null,
    `Save the file as UTF-8, or set --encoding ${little ? 'utf-16le' : 'utf-16be'}.`,
  );
}
