import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { type ByteString, readByteString, toByteString } from '../core/brands.js';
import { type ErrorCode, WorktrackError } from '../core/errors.js';
import { ACCEPTED_CODING, decodeBody, isIdentity } from './content-coding.js';

/** Why a body cannot be read. A retry can help for all of them except `too-large`. */
type BodyFault = 'too-large' | 'too-slow' | 'truncated' | 'unknown-coding' | 'undecodable';

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
 * Reads a whole JSON body, decoded (RFC 9110 8.4) and without a byte order mark. Neither the encoded nor the decoded
 * form may be larger than `maxBytes`, so a decompression bomb never fills the memory.
 * Throws BodyError; errors of the connection pass through.
 */
export async function readBody(stream: Readable, headers: BodyHeaders, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  await decodeInto(chunks, stream, headers, maxBytes);
  const whole = joinChunks(chunks);
  const start = whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf ? 3 : 0;
  if (isUtf8(whole)) return { text: readByteString(whole.subarray(start)), bytes: whole.length, replaced: 0 };
  return { ...decodeLossy(whole.subarray(start)), bytes: whole.length };
}

/**
 * JSON must be UTF-8 (RFC 8259 section 8.1). One invalid value must not block all other rows, so invalid sequences
 * become U+FFFD, like lone surrogates (docs/explanation/semantics.md#values), and are limitBytes for a warning.
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
 * Reads the beginning of an error's body as text, up to `maxBytes`. Never throws: the status matters most, so a broken
 * body or connection only shortens the text.
 */
export async function readErrorText(
  stream: Readable,
  headers: BodyHeaders,
  maxBytes: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    await decodeInto(chunks, stream, headers, maxBytes);
  } catch {
    // `chunks` has the bytes before the failure.
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function decodeInto(
  sink: Buffer[],
  stream: Readable,
  headers: BodyHeaders,
  maxBytes: number,
): Promise<void> {
  // Destroying an unfinished body makes it emit an error when nothing listens any more.
  stream.on('error', () => undefined);
  try {
    const { contentEncoding, contentLength } = headers;
    const isPlain = isIdentity(contentEncoding);
    const source = isPlain
      ? stream
      : decodeBody(limitBytes(stream, contentLength, maxBytes), contentEncoding);
    if (source === null) {
      throw new BodyError(
        'unknown-coding',
        `The body has the Content-Encoding ${contentEncoding}, but only ${ACCEPTED_CODING} was requested.`,
      );
    }
    let size = 0;
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      sink.push(chunk);
    }
    if (isPlain) checkLength(size, contentLength);
  } catch (error) {
    stream.destroy();
    throw isZlibError(error) ? decodingError(error, headers.contentEncoding) : error;
  }
}

/**
 * Limits and checks the encoded bytes. A gzip stream of endless empty members decodes to zero bytes, so a limit on the
 * decoded bytes alone would never stop it.
 */
async function* limitBytes(
  source: AsyncIterable<Buffer>,
  contentLength: string | null,
  maxBytes: number,
): AsyncIterable<Buffer> {
  let received = 0;
  for await (const chunk of source) {
    received += chunk.length;
    if (received > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
  checkLength(received, contentLength);
}

function checkLength(received: number, contentLength: string | null): void {
  if (contentLength === null || !/^\d+$/.test(contentLength) || Number(contentLength) === received) return;
  throw new BodyError('truncated', `The body has ${received} bytes, but Content-Length is ${contentLength}.`);
}

function tooLarge(maxBytes: number): BodyError {
  return new BodyError('too-large', `The body is larger than ${maxBytes} bytes.`, { maxBytes });
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
