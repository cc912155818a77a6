import { isUtf8 } from 'node:buffer';
import { type ByteString, readByteString, toByteString } from '../core/brands.js';
import { type ErrorCode, WorktrackError } from '../core/errors.js';
import { ACCEPTED_CODING, decoderOf, isIdentity } from './content-coding.js';

/** Why a body cannot be read. A retry can help for all of them except `too-large`. */
export type BodyFault = 'too-large' | 'too-slow' | 'truncated' | 'unknown-coding' | 'undecodable';

export class BodyError extends WorktrackError {
  readonly code: ErrorCode;
  readonly fault: BodyFault;
  /** The limit for `too-large`; otherwise 0. */
  readonly maxBytes: number;

  constructor(
    fault: BodyFault,
    message: string,
    options: { readonly cause?: unknown; readonly maxBytes?: number } = {},
  ) {
    super(message, options);
    this.code = fault === 'too-large' ? 'SERVICE_BODY_TOO_LARGE' : 'SERVICE_TRANSIENT';
    this.fault = fault;
    this.maxBytes = options.maxBytes ?? 0;
  }
}

export interface BodyHeaders {
  readonly contentEncoding: string | null;
  readonly contentLength: string | null;
}

/** A decoded body and its decoded size in bytes. */
export interface Body {
  readonly text: ByteString;
  readonly bytes: number;
  /** Number of invalid UTF-8 sequences that were replaced by U+FFFD. */
  readonly replaced: number;
}

/**
 * Decodes a whole JSON body (RFC 9110 8.4), and removes a byte order mark. Neither the encoded nor the decoded form may be
 * larger than `maxBytes`, so a decompression bomb never fills the memory.
 *
 * @throws BodyError
 */
export async function readBody(
  encoded: readonly Buffer[],
  headers: BodyHeaders,
  maxBytes: number,
): Promise<Body> {
  const { contentEncoding, contentLength } = headers;
  checkSize(encoded, contentLength, maxBytes);
  const chunks = isIdentity(contentEncoding)
    ? encoded
    : await decodeInto([], encoded, contentEncoding, maxBytes);
  const whole = joinChunks(chunks);
  const start = whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf ? 3 : 0;
  if (isUtf8(whole)) return { text: readByteString(whole.subarray(start)), bytes: whole.length, replaced: 0 };
  return { ...decodeLossy(whole.subarray(start)), bytes: whole.length };
}

/**
 * JSON must be UTF-8 (RFC 8259 section 8.1). One invalid value must not block all other rows, so invalid sequences
 * become U+FFFD, like lone surrogates (docs/explanation/semantics.md#values), and are counted for a warning.
 */
function decodeLossy(bytes: Buffer): Pick<Body, 'text' | 'replaced'> {
  const text = toByteString(bytes.toString('utf8'));
  return { text, replaced: countReplacements(text) - countReplacements(readByteString(bytes)) };
}

/** Counts U+FFFD in a text. */
function countReplacements(text: ByteString): number {
  return text.split('\xef\xbf\xbd').length - 1;
}

/** Reused for joining the chunks of each body: a new buffer per body would load the garbage collector. */
let workspace = Buffer.alloc(0);
const MAX_WORKSPACE_BYTES = 4 * 1024 * 1024;

/** Joins chunks. The result is valid until the next call. */
function joinChunks(chunks: readonly Buffer[]): Buffer {
  if (chunks.length === 1) return chunks[0]!;
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  if (bytes > MAX_WORKSPACE_BYTES) return Buffer.concat(chunks);
  if (bytes > workspace.length) {
    workspace = Buffer.allocUnsafeSlow(Math.min(MAX_WORKSPACE_BYTES, Math.max(bytes, 2 * workspace.length)));
  }
  let filled = 0;
  for (const chunk of chunks) filled += chunk.copy(workspace, filled);
  return workspace.subarray(0, bytes);
}

/**
 * The beginning of an error's body as text, up to `maxBytes`, and whether all of it was decoded. Never throws: the status
 * matters most, so a body that is broken only shortens the text.
 */
export async function readErrorText(
  encoded: readonly Buffer[],
  { contentEncoding }: BodyHeaders,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isDecoded: boolean }> {
  const toText = (chunks: readonly Buffer[]) => Buffer.concat(chunks).toString('utf8');
  if (isIdentity(contentEncoding)) return { text: toText(encoded), isDecoded: true };
  try {
    return { text: toText(await decodeInto([], encoded, contentEncoding, maxBytes)), isDecoded: true };
  } catch {
    const chunks: Buffer[] = [];
    // After a failure, `chunks` has the bytes before it.
    await decodeInto(chunks, encoded, contentEncoding, maxBytes, 'any').catch(() => {});
    return { text: toText(chunks), isDecoded: false };
  }
}

/** Decodes a body and returns `sink`, to which it adds each chunk as soon as it is decoded. @param end see `decoderOf` */
async function decodeInto(
  sink: Buffer[],
  encoded: readonly Buffer[],
  contentEncoding: string | null,
  maxBytes: number,
  end: 'marked' | 'any' = 'marked',
): Promise<readonly Buffer[]> {
  const decoder = decoderOf(contentEncoding, end);
  if (decoder === null) {
    throw new BodyError(
      'unknown-coding',
      `The body has the Content-Encoding ${contentEncoding}, but only ${ACCEPTED_CODING} was requested.`,
    );
  }
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
    throw isZlibError(error) ? decodingError(error, contentEncoding) : error;
  } finally {
    decoder.destroy();
  }
}

/**
 * Checks the encoded bytes. A gzip body of endless empty members decodes to zero bytes, so a limit on the decoded bytes
 * alone would never stop it.
 */
function checkSize(encoded: readonly Buffer[], contentLength: string | null, maxBytes: number): void {
  const bytes = encoded.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  if (contentLength === null || !/^\d+$/.test(contentLength) || Number(contentLength) === bytes) return;
  throw new BodyError('truncated', `The body has ${bytes} bytes, but Content-Length is ${contentLength}.`);
}

/** The error for a body that is larger than `http.maxBody`. */
export function tooLarge(maxBytes: number): BodyError {
  return new BodyError('too-large', `The body is larger than ${maxBytes} bytes.`, { maxBytes });
}

/** The error for a response that is not complete within `http.responseTimeout`, although bytes keep arriving. */
export function tooSlow(limitMs: number): BodyError {
  return new BodyError(
    'too-slow',
    `the response was not complete after ${limitMs / 1000} s. If the service needs this long, raise http.responseTimeout.`,
  );
}

function isZlibError(error: unknown): error is NodeJS.ErrnoException {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code?.startsWith('Z_') ?? false;
}

function decodingError(error: NodeJS.ErrnoException, coding: string | null): BodyError {
  if (error.code === 'Z_BUF_ERROR') {
    return new BodyError('truncated', `The ${coding} body is truncated.`, { cause: error });
  }
  return new BodyError('undecodable', `The body is not valid ${coding}: ${error.message}.`, { cause: error });
}
