import { Readable } from 'node:stream';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyError, readBody, readErrorText } from '../../../src/api/body.js';
import { fromByteString } from '../../../src/core/brands.js';
import { rejection } from './support.js';

const MB = 1024 * 1024;

function stream(...chunks: Buffer[]): Readable {
  return Readable.from(chunks, { objectMode: false });
}

function coded(contentEncoding: string | null, contentLength: string | null = null) {
  return { contentEncoding, contentLength };
}

async function fault(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise);
  return error instanceof BodyError ? error.fault : error;
}

const ENCODE: Record<string, (plain: Buffer) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  identity: (plain) => plain,
  'deflate, GZIP': (plain) => gzipSync(deflateSync(plain)),
};

describe('decoding', () => {
  test.each(Object.keys(ENCODE))(
    'a body encoded with %s is decoded exactly, for any chunk boundaries',
    async (coding) => {
      await fc.assert(
        fc.asyncProperty(
          fc.string({ unit: 'grapheme' }),
          fc.integer({ min: 1, max: 40 }),
          async (text, size) => {
            // Starts with a space, because a byte order mark at the start would be removed.
            const bytes = ENCODE[coding]?.(Buffer.from(` ${text}`)) ?? Buffer.alloc(0);
            const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
              bytes.subarray(i * size, (i + 1) * size),
            );
            const body = await readBody(stream(...chunks), coded(coding, String(bytes.length)), MB);
            expect(fromByteString(body.text)).toBe(` ${text}`);
          },
        ),
        { numRuns: 30 },
      );
    },
  );

  test('concurrent bodies do not mix', async () => {
    const texts = ['a', 'b', 'c'].map((letter) => `"${letter.repeat(100_000)}"`);
    const pieces = (text: string) =>
      Array.from({ length: 11 }, (_, i) =>
        Buffer.from(text.slice(i * 9999, (i + 1) * 9999 + (i === 10 ? 1e6 : 0))),
      );
    const bodies = await Promise.all(texts.map((text) => readBody(stream(...pieces(text)), coded(null), MB)));
    expect(bodies.map(({ text }) => text)).toEqual(texts);
  });

  test('a body larger than the shared workspace is read', async () => {
    const text = `"${'x'.repeat(5 * MB)}"`;
    const half = text.length >> 1;
    const halves = [Buffer.from(text.slice(0, half)), Buffer.from(text.slice(half))];
    expect((await readBody(stream(...halves), coded(null), 6 * MB)).text).toBe(text);
  });

  test('raw deflate without a zlib header is decoded', async () => {
    const body = await readBody(stream(deflateRawSync(Buffer.from('{"a":1}'))), coded('deflate'), MB);
    expect(body.text).toBe('{"a":1}');
  });

  test('the text has one byte per character', async () => {
    const body = await readBody(stream(Buffer.from('"é"')), coded(null), MB);
    expect([body.text, body.bytes]).toEqual(['"\u00c3\u00a9"', 4]);
  });

  test('a byte order mark is removed', async () => {
    expect((await readBody(stream(Buffer.from('\ufeff{}')), coded(null), MB)).text).toBe('{}');
  });

  test('an unsupported coding is named in the error', async () => {
    const error = await rejection(readBody(stream(Buffer.from('x')), coded('zstd'), MB));
    expect(error).toMatchObject({ fault: 'unknown-coding', message: expect.stringContaining('zstd') });
  });
});

describe('faults', () => {
  test('invalid UTF-8 bytes become U+FFFD and are counted; a U+FFFD that was sent is not counted', async () => {
    const bytes = Buffer.concat([Buffer.from('"\ufffd'), Buffer.from([0xff]), Buffer.from('é"')]);
    const body = await readBody(stream(bytes), coded(null), MB);
    expect([fromByteString(body.text), body.bytes, body.replaced]).toEqual(['"\ufffd\ufffdé"', 8, 1]);
  });

  test('a body with fewer bytes than its Content-Length is truncated', async () => {
    expect(await fault(readBody(stream(Buffer.from('{}')), coded(null, '3'), MB))).toBe('truncated');
    expect(await fault(readBody(stream(gzipSync('{}')), coded('gzip', '999'), MB))).toBe('truncated');
  });

  test.each(['gzip', 'deflate', 'br'])('a %s body without its end is truncated', async (coding) => {
    const whole = ENCODE[coding]?.(Buffer.from('x'.repeat(1000) + Math.PI)) ?? Buffer.alloc(0);
    const part = whole.subarray(0, whole.length - 3);
    expect(await fault(readBody(stream(part), coded(coding), MB))).toBe('truncated');
  });

  test.each(['gzip', 'br'])('a body that is not %s is undecodable', async (coding) => {
    const noise = Buffer.from('<html>no such thing as compression here</html>');
    expect(await fault(readBody(stream(noise), coded(coding), MB))).toBe('undecodable');
  });

  test('an error of the connection passes through a decoder unchanged', async () => {
    const broken = new Error('reset');
    const source = Readable.from(
      (async function* () {
        yield gzipSync('x'.repeat(1000)).subarray(0, 12);
        throw broken;
      })(),
      { objectMode: false },
    );
    expect(await rejection(readBody(source, coded('gzip'), MB))).toBe(broken);
  });
});

describe('limits', () => {
  test('a body of exactly the limit is read, and one byte more is an error', async () => {
    expect((await readBody(stream(Buffer.alloc(10, 0x20)), coded(null), 10)).bytes).toBe(10);
    expect(await fault(readBody(stream(Buffer.alloc(11, 0x20)), coded(null), 10))).toBe('too-large');
  });

  const fastest = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  test.each([
    ['gzip', (plain: Buffer) => gzipSync(plain, { level: 1 })],
    ['deflate', (plain: Buffer) => deflateSync(plain, { level: 1 })],
    ['br', (plain: Buffer) => brotliCompressSync(plain, fastest)],
  ] as const)('a %s bomb stops at the size limit, and its source is closed', async (coding, compress) => {
    const bomb = compress(Buffer.alloc(64 * MB, 0x20));
    const before = process.memoryUsage().arrayBuffers;
    const source = stream(bomb, Buffer.alloc(10));
    expect(await fault(readBody(source, coded(coding), MB))).toBe('too-large');
    expect(source.destroyed).toBe(true);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MB);
  });

  test('an endless stream of empty gzip members, which decodes to nothing, is an error too', async () => {
    const member = gzipSync('');
    const endless = Readable.from(
      (function* () {
        for (;;) yield member;
      })(),
      { objectMode: false },
    );
    expect(await fault(readBody(endless, coded('gzip'), 10_000))).toBe('too-large');
  });
});

describe('readErrorText', () => {
  test('returns the readable part of a broken body', async () => {
    const source = Readable.from(
      (async function* () {
        yield Buffer.from('{"message":"no');
        throw new Error('reset');
      })(),
      { objectMode: false },
    );
    expect(await readErrorText(source, coded(null), MB)).toBe('{"message":"no');
  });

  test('stops at its limit', async () => {
    expect(await readErrorText(stream(Buffer.from('12345'), Buffer.from('67890')), coded(null), 7)).toBe(
      '12345',
    );
  });
});
