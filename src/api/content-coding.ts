import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

/** The Accept-Encoding of every request. */
export const ACCEPTED_CODING = 'gzip';

/** Whether a body is not encoded (RFC 9110 8.4). */
export function isIdentity(contentEncoding: string | null): boolean {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  return coding === '' || coding === 'identity';
}

/** Decodes an encoded body by its Content-Encoding (RFC 9110 8.4). Null for a coding that no request accepts. */
export function decodeBody(
  source: AsyncIterable<Buffer>,
  contentEncoding: string | null,
): AsyncIterable<Buffer> | null {
  switch (contentEncoding?.trim().toLowerCase()) {
    case 'x-gzip': // Equivalent to gzip (RFC 9110 8.4.1.3).
    case ACCEPTED_CODING:
      return gunzip(source);
    default:
      return null;
  }
}

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = createGunzip();
  // An error of the source destroys the decoder, so it reaches the loop below. The promise is not awaited: a reader
  // that stops early destroys the body, which ends the pipeline.
  pipeline(source, decoder).catch(() => undefined);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } finally {
    decoder.destroy();
  }
}
