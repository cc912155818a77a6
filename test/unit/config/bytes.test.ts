import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, parseBytes } from '../../../src/core/bytes.js';

describe('sizes', () => {
  it.each([
    ['64MiB', 67_108_864],
    ['8MB', 8_000_000],
    ['512B', 512],
    ['1.5GiB', 1_610_612_736],
    ['10 kB', 10_000],
    ['1KiB', 1024],
    ['0B', 0],
  ])('reads %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(['', '64', '64M', '64mb', '-1B', 'MiB', '1,5MB', '64MiB '])('rejects %j', (text) => {
    expect(() => parseBytes(text)).toThrow(/is not a size; allowed: .*64MiB/);
  });

  it('rejects fractions of a byte and numbers that are too large to be exact', () => {
    expect(() => parseBytes('1.5B')).toThrow(/whole number of bytes/);
    expect(() => parseBytes('99999999TiB')).toThrow(/whole number of bytes/);
  });

  it('parses every size that it formats', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 42 }), (bytes) => {
        expect(parseBytes(formatBytes(bytes))).toBe(bytes);
      }),
    );
    expect([67_108_864, 1000, 0, 1536].map(formatBytes)).toEqual(['64MiB', '1000B', '0B', '1536B']);
  });
});
