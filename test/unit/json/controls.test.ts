import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { countControls } from '../../../src/json/string.js';

const plain = (text: string): number => [...text].filter((char) => char < ' ').length;

describe('the number of control characters', () => {
  it('is correct for every byte', () => {
    for (let code = 0; code < 256; code++) {
      const text = `x${String.fromCharCode(code)}yz` as ByteString;
      expect(countControls(text)).toBe(code < 0x20 ? 1 : 0);
    }
  });

  it('is correct for random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
        const text = Buffer.from(bytes).toString('latin1') as ByteString;
        expect(countControls(text)).toBe(plain(text));
      }),
    );
  });

  it.each([1, 1007, 100_000])('is correct for a text of %i control characters', (length) => {
    expect(countControls('\n'.repeat(length) as ByteString)).toBe(length);
    expect(countControls('a'.repeat(length) as ByteString)).toBe(0);
  });
});
