import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/** Decodes one content coding. */
type Decoder = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/** More codings on one body have no legitimate use. */
const MAX_CODINGS = 3;

/**
 * The decoders for a Content-Encoding (RFC 9110 8.4.1), in the order of decoding: the last coding in the header was
 * applied last and is decoded first. Null when one of them is unknown.
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

/** `deflate` means the zlib format, but some servers send raw deflate. The first byte shows which (RFC 1950 2.2). */
async function* inflateEither(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return;
  const wrapped = ((first.value[0] ?? 0) & 0x0f) === 8;
  yield* through(wrapped ? createInflate() : createInflateRaw(), startingWith(first.value, pieces));
}

async function* through(decoder: Duplex, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // An error of the source destroys the decoder, so it reaches the loop below. The promise is not awaited: a reader
  // that stops early destroys the body, which ends the pipeline.
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
