import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { TextDecoder } from 'node:util';
import { constants, createGunzip } from 'node:zlib';
import { type ByteString, readByteString } from '../core/brands.js';
import { BufferPool } from '../core/buffer-pool.js';
import { type ErrorCode, errorMessage, WorktrackError } from '../core/errors.js';
import { systemCode } from '../core/system-error.js';
import type { JsonSource } from '../json/scanner.js';

/** Why a body cannot be read. A retry can help for all of them except `too-large`. */
export type BodyFault = 'too-large' | 'too-slow' | 'truncated' | 'headers' | 'unknown-coding' | 'undecodable';

export class BodyError extends WorktrackError {
  readonly code: ErrorCode;
  readonly fault: BodyFault;

  constructor(fault: BodyFault, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = fault === 'too-large' ? 'SERVICE_BODY_TOO_LARGE' : 'SERVICE_TRANSIENT';
    this.fault = fault;
  }
}

/** A header of a response. Header lines with the same name form one list (RFC 9110 5.3). */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}

/** A decoded body and its decoded size in bytes. */
export interface Body {
  readonly text: BodyText;
  readonly bytes: number;
  /** Number of invalid UTF-8 sequences that were replaced by U+FFFD. */
  readonly replaced: number;
}

/** The text of a body as UTF-8. As a string, it would be copied once more, to where V8 collects garbage most rarely. */
export class BodyText implements JsonSource {
  #utf8: Buffer | null;

  constructor(utf8: Buffer) {
    this.#utf8 = utf8;
  }

  get length(): number {
    return this.#bytes.length;
  }

  slice(from: number, to?: number): ByteString {
    return readByteString(this.#bytes.subarray(from, to));
  }

  /** All of it. */
  whole(): ByteString {
    return readByteString(this.#bytes);
  }

  /** The first character that is no white space; `null` if there is none. */
  first(): string | null {
    return (/\S/.exec(this.slice(0, 100)) ?? /\S/.exec(this.whole()))?.[0] ?? null;
  }

  /** Frees the text, which must not be read any more. */
  release(): void {
    pool.giveBack(this.#bytes);
    this.#utf8 = null;
  }

  get #bytes(): Buffer {
    if (this.#utf8 === null) throw new Error('The text of a body was read after its release.');
    return this.#utf8;
  }
}

/**
 * Decodes a whole JSON body (RFC 9110 8.4) to text. Neither the encoded nor the decoded form may be
 * larger than `maxBytes`, so a decompression bomb never fills the memory.
 *
 * @throws BodyError
 */
export async function readBody(
  encoded: readonly Buffer[],
  headers: IncomingHttpHeaders,
  maxBytes: number,
): Promise<Body> {
  checkSize(encoded, headerOf(headers, 'content-length'), maxBytes);
  const chunks = await decoded(encoded, headers, maxBytes);
  const bytes = bytesOf(chunks);
  const whole = bytes > SMALL_BYTES ? joinedIn(pool.take(bytes), chunks) : Buffer.concat(chunks);
  const { utf8, replaced } = toUtf8(whole, headers);
  return { text: new BodyText(utf8), bytes, replaced };
}

function bytesOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/** Smaller bodies do not use the pool, bytes. */
const SMALL_BYTES = 64 * 1024;
const pool = new BufferPool({ least: 256 * 1024, most: 2 * 1024 * 1024, count: 4 });

function joinedIn(buffer: Buffer, chunks: readonly Buffer[]): Buffer {
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(buffer, at);
  return buffer;
}

/** The chunks of the body without its coding. A body of text is read although its label says otherwise. */
async function decoded(
  encoded: readonly Buffer[],
  headers: IncomingHttpHeaders,
  maxBytes: number,
): Promise<readonly Buffer[]> {
  const coding = codingOf(headers, encoded);
  if (coding === 'gzip') return decodeInto([], encoded, maxBytes);
  if (coding === 'identity' || isText(Buffer.concat(encoded))) return encoded;
  throw new BodyError(
    'unknown-coding',
    `The body has the Content-Encoding ${headerOf(headers, 'content-encoding')}, but only ${ACCEPTED_CODING} was requested.`,
  );
}

/** Whether bytes are text that could be JSON or a web page. Compressed data is not valid UTF-8, except for a few bytes. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && /^\s*[[{<]/.test(bytes.toString('latin1', 0, 100));
}

/**
 * The beginning of an error's body as text, up to `maxBytes`, and whether all of it was decoded. Never throws: the status
 * matters most, so a body that is broken only shortens the text.
 */
export async function readErrorText(
  encoded: readonly Buffer[],
  headers: IncomingHttpHeaders,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isDecoded: boolean }> {
  const toText = (chunks: readonly Buffer[]) => toUtf8(Buffer.concat(chunks), headers).utf8.toString();
  if (codingOf(headers, encoded) !== 'gzip') return { text: toText(encoded), isDecoded: true };
  try {
    return { text: toText(await decodeInto([], encoded, maxBytes)), isDecoded: true };
  } catch {
    const chunks: Buffer[] = [];
    // After a failure, `chunks` has the bytes before it.
    await decodeInto(chunks, encoded, maxBytes, 'any').catch(() => {});
    return { text: toText(chunks), isDecoded: false };
  }
}

/**
 * Decodes a gzip body and returns `sink`, and adds each chunk to it as soon as it is decoded.
 *
 * @param end `marked`: a body without its end is an error; `any`: such a body is decoded as far as it goes
 */
async function decodeInto(
  sink: Buffer[],
  encoded: readonly Buffer[],
  maxBytes: number,
  end: 'marked' | 'any' = 'marked',
): Promise<readonly Buffer[]> {
  const decoder = createGunzip({
    finishFlush: end === 'marked' ? constants.Z_FINISH : constants.Z_SYNC_FLUSH,
  });
  try {
    for (const chunk of encoded) decoder.write(chunk);
    decoder.end();
    let size = 0;
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      sink.push(chunk);
    }
    return sink;
  } catch (error) {
    const code = systemCode(error) ?? '';
    if (code === 'Z_BUF_ERROR')
      throw new BodyError('truncated', 'The gzip body is truncated.', { cause: error });
    if (!code.startsWith('Z_')) throw error;
    const message = `The body is not valid gzip: ${errorMessage(error)}.`;
    throw new BodyError('undecodable', message, { cause: error });
  } finally {
    decoder.destroy();
  }
}

/**
 * Checks the encoded bytes. A gzip body of endless empty members decodes to zero bytes, so a limit on the decoded bytes
 * alone would never stop it.
 */
function checkSize(encoded: readonly Buffer[], contentLength: string | null, maxBytes: number): void {
  const bytes = bytesOf(encoded);
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  if (contentLength === null || !/^\d+$/.test(contentLength) || Number(contentLength) === bytes) return;
  throw new BodyError('truncated', `The body has ${bytes} bytes, but Content-Length is ${contentLength}.`);
}

/** The error for a body that is larger than `http.maxBody`. */
export function tooLarge(maxBytes: number): BodyError {
  return new BodyError('too-large', `The body is larger than ${maxBytes} bytes.`);
}

/** The error for a response that is not complete within `http.responseTimeout`, although bytes keep arriving. */
export function tooSlow(limitMs: number): BodyError {
  return new BodyError(
    'too-slow',
    `the response was not complete after ${limitMs / 1000} s. If the service needs this long, raise http.responseTimeout.`,
  );
}

/** The error for a response whose headers break HTTP. */
export function brokenHeaders(cause: unknown): BodyError {
  return new BodyError('headers', 'Content-Length does not fit the other headers.', { cause });
}

/**
 * Decodes the bytes of a body. JSON must be UTF-8 (RFC 8259 section 8.1), so valid UTF-8 is read as such, whatever the
 * Content-Type declares. Otherwise UTF-16 is recognized by its byte order mark or its zero bytes, and after that the
 * declared charset counts. A byte order mark is removed.
 */
function toUtf8(bytes: Buffer, headers: IncomingHttpHeaders): Utf8 {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const encoding = utf16Of(bytes);
  if (encoding === null && isUtf8(bytes)) return { utf8: bytes.subarray(start), replaced: 0 };
  const decoder = decoderOf(encoding ?? declaredCharset(headerOf(headers, 'content-type')));
  if (decoder === null) return withoutInvalid(bytes.subarray(start));
  const utf8 = Buffer.from(decoder.decode(bytes));
  // UTF-16 can have U+FFFD as such, which is too rare to be told apart.
  return { utf8, replaced: countReplacements(utf8) };
}

interface Utf8 extends Pick<Body, 'replaced'> {
  readonly utf8: Buffer;
}

/** JSON begins with an ASCII character, which has a zero byte in UTF-16 (RFC 4627 section 3). */
function utf16Of(bytes: Buffer): string | null {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return 'utf-16be';
  return null;
}

/** The parameter `charset` (RFC 9110 8.3.2); null if there is none, or if it is UTF-8, which the bytes are not. */
function declaredCharset(contentType: string | null): string | null {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(contentType ?? '') ?? [];
  const charset = (quoted ?? plain ?? '').trim();
  return charset === '' || /^utf-?8$/i.test(charset) ? null : charset;
}

/** A decoder for a label of the Encoding Standard, where `iso-8859-1` means Windows-1252; null for an unknown label. */
function decoderOf(label: string | null): TextDecoder | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

/**
 * One invalid value must not block all other rows, so invalid sequences become U+FFFD, like lone surrogates
 * (docs/explanation/guarantees.md#values), and are counted for a warning.
 */
function withoutInvalid(bytes: Buffer): Utf8 {
  const utf8 = Buffer.from(bytes.toString());
  return { utf8, replaced: countReplacements(utf8) - countReplacements(bytes) };
}

function countReplacements(utf8: Buffer): number {
  return utf8.toString('latin1').split('\xef\xbf\xbd').length - 1;
}

/** The Accept-Encoding of every request. */
export const ACCEPTED_CODING = 'gzip';

/** Codings that change the bytes of a body (the IANA registry of content codings). */
const CODINGS: readonly string[] = ['gzip', 'br', 'deflate', 'compress', 'zstd', 'dcb', 'dcz', 'exi'];
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/**
 * The coding of a body (RFC 9110 8.4). The label alone does not decide: some services put a charset or `none` into
 * Content-Encoding, and some proxies decode a body and keep its label. An unknown token means identity. No text begins
 * with the first bytes of gzip, so these show whether a body is gzip.
 *
 * @param chunks the body as it arrived
 * @returns `unsupported`: a coding that no request accepts
 */
function codingOf(
  headers: IncomingHttpHeaders,
  chunks: readonly Buffer[],
): 'identity' | 'gzip' | 'unsupported' {
  const codings = (headerOf(headers, 'content-encoding') ?? '')
    .split(',')
    .map((token) => token.trim().toLowerCase().replace(/^x-/, ''))
    .filter((token) => CODINGS.includes(token));
  if (codings.every((coding) => coding === 'gzip') && codings.length <= 1)
    return Buffer.concat(chunks, GZIP_MAGIC.length).equals(GZIP_MAGIC) ? 'gzip' : 'identity';
  return 'unsupported';
}
