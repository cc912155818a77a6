import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/** One step from encoded to decoded bytes. */
export type Decoder = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/** More codings than this on one body only make sense as an attack. */
const MAX_CODINGS = 3;

/**
 * The decoders for a Content-Encoding (RFC 9110 8.4.1), in the order to apply them: the last coding named was applied
 * last and comes off first. Null when one of them is unknown.
 */
export function decoders(contentEncoding: string | null): Decoder[] | null {
  const names = (contentEncoding ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MAX_CODINGS) return null;
  const chain: Decoder[] = [];
  for (const name of names.reverse()) {
    const decoder = decoderFor(name);
    if (decoder === null) return null;
    chain.push(decoder);
  }
  return chain;
}

function decoderFor(name: string): Decoder | null {
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return (source) => through(createGunzip(), source);
    case 'deflate':
      return inflateEither;
    case 'br':
      return (source) => through(createBrotliDecompress(), source);
    default:
      return null;
  }
}

/** `deflate` means the zlib format, but servers are known to send it raw; the first byte tells (RFC 1950 2.2). */
async function* inflateEither(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return;
  const wrapped = ((first.value[0] ?? 0) & 0x0f) === 8;
  yield* through(wrapped ? createInflate() : createInflateRaw(), startingWith(first.value, pieces));
}

async function* through(decoder: Duplex, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // An error of the source destroys the decoder with it, and so reaches the loop below. Nothing waits for this promise:
  // a reader that stops early destroys the body itself, which ends the feeding.
  pipeline(source, decoder).catch(() => undefined);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } finally {
    decoder.destroy();
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
