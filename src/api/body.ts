import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import type { ByteString } from '../core/brands.js';
import { decoders } from './content-coding.js';

/** What is wrong with a body; `too-large` is the only one that asking again cannot cure. */
export type BodyFault = 'too-large' | 'truncated' | 'unknown-coding' | 'undecodable' | 'not-utf8';

export class BodyError extends Error {
  static {
    BodyError.prototype.name = 'BodyError';
  }
  readonly code = 'BODY';
  readonly fault: BodyFault;
  /** The bound that was in force, where it was exceeded. */
  readonly maxBytes: number;

  constructor(
    fault: BodyFault,
    message: string,
    options: ErrorOptions & { readonly maxBytes?: number } = {},
  ) {
    super(message, options);
    this.fault = fault;
    this.maxBytes = options.maxBytes ?? 0;
  }
}

export interface BodyHeaders {
  readonly contentEncoding: string | null;
  readonly contentLength: string | null;
}

/** A body after decoding, and its size then, in bytes. */
export interface Body {
  readonly text: ByteString;
  readonly bytes: number;
}

/**
 * Reads a JSON body whole, decoded (RFC 9110 8.4) and without a byte order mark. Neither the encoded nor the decoded
 * form may be larger than `maxBytes`; what a decompression bomb would unfold to is never held.
 * Throws BodyError; errors of the connection pass through.
 */
export async function readBody(stream: Readable, headers: BodyHeaders, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  await decodeInto(chunks, stream, headers, maxBytes);
  const whole = joined(chunks);
  if (!isUtf8(whole))
    throw new BodyError('not-utf8', 'The body is not valid UTF-8, which JSON must be (RFC 8259 8.1).');
  const start = whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf ? 3 : 0;
  return { text: whole.toString('latin1', start) as ByteString, bytes: whole.length };
}

/** Bodies are put together here one after the other: memory for each would keep the garbage collector busy. */
let workspace = Buffer.alloc(0);
const MOST_WORKSPACE = 4 * 1024 * 1024;

/** The pieces as one; it holds until the next call. */
function joined(pieces: readonly Buffer[]): Buffer {
  if (pieces.length === 1) return pieces[0]!;
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes > MOST_WORKSPACE) return Buffer.concat(pieces);
  if (bytes > workspace.length) {
    workspace = Buffer.allocUnsafeSlow(Math.min(MOST_WORKSPACE, Math.max(bytes, 2 * workspace.length)));
  }
  let filled = 0;
  for (const piece of pieces) filled += piece.copy(workspace, filled);
  return workspace.subarray(0, bytes);
}

/**
 * Reads the beginning of an error's body as text, up to `maxBytes`. Never throws for what is wrong with the body or its
 * connection: the status has said the essential, so this gives what could be read.
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
    // What came before the fault is in `chunks`.
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function decodeInto(
  sink: Buffer[],
  stream: Readable,
  headers: BodyHeaders,
  maxBytes: number,
): Promise<void> {
  // Destroying a body that is still under way makes it emit an error when nobody reads it any more.
  stream.on('error', () => undefined);
  try {
    const chain = decoders(headers.contentEncoding);
    if (chain === null) {
      const coding = headers.contentEncoding ?? '';
      throw new BodyError(
        'unknown-coding',
        `The body has a Content-Encoding that was not asked for: ${coding}.`,
      );
    }
    let source = counted(stream, headers.contentLength, maxBytes);
    for (const decode of chain) source = decode(source);
    let size = 0;
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      sink.push(chunk);
    }
  } catch (error) {
    stream.destroy();
    throw isZlibError(error) ? decodingError(error, headers.contentEncoding) : error;
  }
}

/**
 * Bounds and checks the encoded side: a gzip of countless empty members decodes to nothing at all, so a bound on the
 * decoded side would never end it.
 */
async function* counted(
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
  throw new BodyError(
    'truncated',
    `The body has ${received} bytes where Content-Length promised ${contentLength}.`,
  );
}

function tooLarge(maxBytes: number): BodyError {
  return new BodyError('too-large', `The body is larger than ${maxBytes} bytes.`, { maxBytes });
}

function isZlibError(error: unknown): error is NodeJS.ErrnoException {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code !== undefined && /^(?:Z_|ERR__ERROR_|ERR_BROTLI)/.test(code);
}

function decodingError(error: NodeJS.ErrnoException, coding: string | null): BodyError {
  if (error.code === 'Z_BUF_ERROR') {
    return new BodyError('truncated', `The ${coding} body ends too early.`, { cause: error });
  }
  return new BodyError('undecodable', `The body is not valid ${coding}: ${error.message}.`, { cause: error });
}
