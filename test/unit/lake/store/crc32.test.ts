import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  crc32,
  crc32Combine,
  crc32FromBase64,
  crc32ToBase64,
  crc32ToHex,
} from '../../../../src/lake/store/crc32.js';

const bytes = fc.uint8Array({ maxLength: 5000 });
const word = fc.integer({ min: 0, max: 0xffffffff });

describe('CRC32', () => {
  it('returns the check value of the standard', () => {
    expect(crc32ToHex(crc32(Buffer.from('123456789')))).toBe('cbf43926');
    expect(crc32(Buffer.alloc(0))).toBe(0);
  });

  it('continues over several pieces', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(crc32(b, crc32(a))).toBe(crc32(Buffer.concat([a, b])));
      }),
    );
  });

  it('continues over an empty piece, whatever memory it views', () => {
    const before = crc32(Buffer.from('123456789'));
    const empty = [
      new Uint8Array(),
      new Uint8Array(new ArrayBuffer(0)),
      Buffer.alloc(0).subarray(0, 0),
      Buffer.from('x').subarray(1),
    ];
    for (const piece of empty) expect(crc32(piece, before)).toBe(before);
  });

  it('CRC32 of two joined pieces is computed from theirs', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(crc32Combine(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])));
      }),
    );
  });

  it('does not depend on the order of joining, for lengths far over 4 GiB', () => {
    const length = fc.integer({ min: 0, max: 2 ** 50 });
    fc.assert(
      fc.property(word, word, word, length, length, (a, b, c, bBytes, cBytes) => {
        const left = crc32Combine(crc32Combine(a, b, bBytes), c, cBytes);
        const right = crc32Combine(a, crc32Combine(b, c, cBytes), bBytes + cBytes);
        expect(left).toBe(right);
      }),
    );
  });

  it('CRC32 of 6 GiB agrees with that of its 6144 pieces, one by one', () => {
    const piece = Buffer.alloc(2 ** 20, 'worktrack');
    const [first, pieceCrc] = [crc32(Buffer.from('first')), crc32(piece)];
    let long = 0;
    let oneByOne = first;
    for (let n = 0; n < 6144; n++) {
      long = crc32Combine(long, pieceCrc, piece.length);
      oneByOne = crc32Combine(oneByOne, pieceCrc, piece.length);
    }
    expect(crc32Combine(first, long, 6144 * piece.length)).toBe(oneByOne);
  });

  it('rejects invalid lengths', () => {
    for (const length of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect(() => crc32Combine(1, 2, length)).toThrow(RangeError);
    }
  });

  it('round-trips through its text formats', () => {
    fc.assert(
      fc.property(word, (crc) => {
        const hex = crc32ToHex(crc);
        expect(Number.parseInt(hex, 16)).toBe(crc);
        expect(crc32FromBase64(crc32ToBase64(hex))).toBe(hex);
      }),
    );
    expect(crc32ToBase64('3610a686')).toBe('NhCmhg==');
    expect(crc32ToHex(1)).toBe('00000001');
    expect(crc32FromBase64('0n1OSA==-2')).toBeNull();
  });
});
