import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyError, readBody, readErrorText } from '../../../src/api/body.js';
import { ChunkList } from '../../../src/api/exchange.js';
import { fromByteString } from '../../../src/core/brands.js';
import { rounds } from '../../support/seeds.js';
import { rejection } from './support.js';

const MB = 1024 * 1024;

function coded(
  contentEncoding: string | null,
  contentLength: string | null = null,
  contentType: string | null = null,
) {
  return {
    ...(contentEncoding === null ? {} : { 'content-encoding': contentEncoding }),
    ...(contentLength === null ? {} : { 'content-length': contentLength }),
    ...(contentType === null ? {} : { 'content-type': contentType }),
  };
}

async function fault(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise);
  return error instanceof BodyError ? error.fault : error;
}

const ENCODE: Record<string, (plain: Buffer) => Buffer> = {
  gzip: gzipSync,
  'X-GZIP': gzipSync,
  identity: (plain) => plain,
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
            const body = await readBody(chunks, coded(coding, String(bytes.length)), MB);
            expect(fromByteString(body.text.whole())).toBe(` ${text}`);
          },
        ),
        { numRuns: rounds(30) },
      );
    },
  );

  test('concurrent bodies do not mix', async () => {
    const texts = ['a', 'b', 'c'].map((letter) => `"${letter.repeat(100_000)}"`);
    const pieces = (text: string) =>
      Array.from({ length: 11 }, (_, i) =>
        Buffer.from(text.slice(i * 9999, (i + 1) * 9999 + (i === 10 ? 1e6 : 0))),
      );
    const bodies = await Promise.all(texts.map((text) => readBody(pieces(text), coded(null), MB)));
    expect(bodies.map(({ text }) => text.whole())).toEqual(texts);
  });

  test('a body larger than the buffers that are kept is read', async () => {
    const text = `"${'x'.repeat(5 * MB)}"`;
    const half = text.length >> 1;
    const halves = [Buffer.from(text.slice(0, half)), Buffer.from(text.slice(half))];
    expect((await readBody(halves, coded(null), 6 * MB)).text.whole()).toBe(text);
  });

  test('the text has one byte per character', async () => {
    const body = await readBody([Buffer.from('"é"')], coded(null), MB);
    expect([body.text.whole(), body.bytes]).toEqual(['"\u00c3\u00a9"', 4]);
  });

  test('a byte order mark is removed', async () => {
    expect((await readBody([Buffer.from('\ufeff{}')], coded(null), MB)).text.whole()).toBe('{}');
  });

  test.each([
    ['br', brotliCompressSync('{}')],
    ['deflate', deflateSync('{}')],
    ['gzip, gzip', gzipSync(gzipSync('{}'))],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x7b])],
    ['UTF-8, br', brotliCompressSync('{}')],
  ])('the coding %s, which no request accepts, is named in the error', async (coding, bytes) => {
    expect(await rejection(readBody([bytes], coded(coding), MB))).toMatchObject({
      fault: 'unknown-coding',
      message: `The body has the Content-Encoding ${coding}, but only gzip was requested.`,
    });
  });
});

describe('labels that are wrong', () => {
  const text = '{"name":"Prüfung"}';
  const plain = Buffer.from(text);
  const latin1 = Buffer.from(text, 'latin1');
  const utf16 = Buffer.from(text, 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  const bom = (bytes: Buffer, mark: Buffer) => Buffer.concat([mark, bytes]);
  const LE = Buffer.from([0xff, 0xfe]);
  const BE = Buffer.from([0xfe, 0xff]);

  test.each<[string, Buffer, ReturnType<typeof coded>]>([
    ['UTF-8 as a content coding', plain, coded('UTF-8')],
    ['none as a content coding', plain, coded('none')],
    ['several unknown content codings', plain, coded('binary, utf8, ,identity')],
    ['a gzip label on a plain body', plain, coded('gzip')],
    ['a br label on a plain body', plain, coded('br')],
    ['a gzip label and an unknown one on a gzip body', gzipSync(plain), coded('gzip, UTF-8')],
    ['gzip without a label', gzipSync(plain), coded(null)],
    ['an unknown label on a gzip body', gzipSync(plain), coded('UTF-8')],
    ['ISO-8859-1 that is declared', latin1, coded(null, null, 'application/json; charset=ISO-8859-1')],
    ['a quoted charset', latin1, coded(null, null, 'application/json;charset="windows-1252"')],
    [
      'ISO-8859-1 that is declared, in gzip',
      gzipSync(latin1),
      coded('gzip', null, 'text/json; x=1; CHARSET=latin1'),
    ],
    [
      'UTF-8 that is declared as ISO-8859-1',
      plain,
      coded(null, null, 'application/json; charset=ISO-8859-1'),
    ],
    ['UTF-8 with a byte order mark', bom(plain, Buffer.from('\ufeff')), coded(null)],
    [
      'UTF-16 with a little-endian byte order mark',
      bom(utf16, LE),
      coded(null, null, 'application/json; charset=utf-8'),
    ],
    ['UTF-16 with a big-endian byte order mark', bom(swapped, BE), coded(null)],
    ['UTF-16 without a byte order mark', utf16, coded(null, null, 'application/json; charset=utf-16')],
    ['big-endian UTF-16 without a byte order mark', swapped, coded(null)],
    ['UTF-16 in gzip', gzipSync(bom(utf16, LE)), coded('gzip')],
  ])('%s: the body is read as it is meant, for any chunk boundaries', async (_, bytes, headers) => {
    for (const size of [1, 2, 3, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const body = await readBody(chunks, headers, MB);
      expect([fromByteString(body.text.whole()), body.replaced]).toEqual([text, 0]);
      expect((await readErrorText(chunks, headers, MB)).text).toBe(text);
    }
  });

  test.each(['no-such-charset', 'utf-8', 'UTF8', ''])(
    'bytes that are not UTF-8 are replaced if the declared charset is %j',
    async (charset) => {
      const headers = coded(null, null, `application/json; charset=${charset}`);
      const body = await readBody([latin1], headers, MB);
      expect([fromByteString(body.text.whole()), body.replaced]).toEqual(['{"name":"Pr\ufffdfung"}', 1]);
    },
  );
});

describe('faults', () => {
  test('invalid UTF-8 bytes become U+FFFD and are counted; a U+FFFD that was sent is not counted', async () => {
    const bytes = Buffer.concat([Buffer.from('"\ufffd'), Buffer.from([0xff]), Buffer.from('é"')]);
    const body = await readBody([bytes], coded(null), MB);
    expect([fromByteString(body.text.whole()), body.bytes, body.replaced]).toEqual(['"\ufffd\ufffdé"', 8, 1]);
  });

  test('a body with fewer bytes than its Content-Length is truncated', async () => {
    expect(await fault(readBody([Buffer.from('{}')], coded(null, '3'), MB))).toBe('truncated');
    expect(await fault(readBody([gzipSync('{}')], coded('gzip', '999'), MB))).toBe('truncated');
  });

  test('a gzip body without its end is truncated', async () => {
    const whole = gzipSync(Buffer.from('x'.repeat(1000) + Math.PI));
    expect(await fault(readBody([whole.subarray(0, -3)], coded('gzip'), MB))).toBe('truncated');
  });

  test('a gzip body that is not gzip data is undecodable', async () => {
    const noise = Buffer.from([0x1f, 0x8b, ...Buffer.from('no such thing as compression here')]);
    expect(await fault(readBody([noise], coded('gzip'), MB))).toBe('undecodable');
  });
});

describe('limits', () => {
  test('a body of exactly the limit is read, and one byte more is an error', async () => {
    expect((await readBody([Buffer.alloc(10, 0x20)], coded(null), 10)).bytes).toBe(10);
    expect(await fault(readBody([Buffer.alloc(11, 0x20)], coded(null), 10))).toBe('too-large');
  });

  test('decoding a gzip bomb stops at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MB, 0x20));
    const before = process.memoryUsage().arrayBuffers;
    expect(await fault(readBody([bomb], coded('gzip'), MB))).toBe('too-large');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MB);
  });

  test('gzip members that decode to nothing count with their encoded size', async () => {
    const members = Array.from({ length: 1000 }, () => gzipSync(''));
    expect(await fault(readBody(members, coded('gzip'), 10_000))).toBe('too-large');
  });
});

describe('readErrorText', () => {
  test('returns the text of a whole body', async () => {
    const chunks = [Buffer.from('{"mess'), Buffer.from('age":1}')];
    const whole = { text: '{"message":1}', isDecoded: true };
    expect(await readErrorText(chunks, coded(null), MB)).toEqual(whole);
    expect(await readErrorText([gzipSync('{"message":1}')], coded('gzip'), MB)).toEqual(whole);
  });

  test.each([1, 2, 3, 50])('returns the readable part of a cut gzip body in %i pieces', async (count) => {
    const cut = gzipSync('{"message":"no"}').subarray(0, -8);
    const size = Math.ceil(cut.length / count);
    const pieces = Array.from({ length: count }, (_, at) => cut.subarray(at * size, (at + 1) * size));
    expect(await readErrorText(pieces, coded('gzip'), MB)).toEqual({
      text: '{"message":"no"}',
      isDecoded: false,
    });
  });

  test('stops at its limit', async () => {
    const bomb = gzipSync(Buffer.alloc(MB, 0x20));
    const { text, isDecoded } = await readErrorText([bomb], coded('gzip'), 40_000);
    expect([text.length <= 40_000, isDecoded]).toEqual([true, false]);
  });
});

describe('ChunkList', () => {
  test('joins small chunks, so that their number does not fill the memory, and keeps the order', () => {
    const list = new ChunkList();
    const expected: Buffer[] = [];
    for (let at = 0; at < 20_000; at++) {
      const chunk = Buffer.alloc(at % 5000 === 4999 ? 10_000 : 1, at % 251);
      expected.push(chunk);
      list.add(chunk);
    }
    expect(list.chunks().length).toBeLessThan(100);
    expect(Buffer.concat(list.chunks()).equals(Buffer.concat(expected))).toBe(true);
  });

  test('does not copy a single chunk', () => {
    const list = new ChunkList();
    const chunk = Buffer.from('{}');
    list.add(chunk);
    expect(list.chunks()[0]).toBe(chunk);
  });
});
