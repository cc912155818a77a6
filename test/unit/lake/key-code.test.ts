import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SortKey } from '../../../src/lake/rows/row.js';
import { commonPrefix, keyCode } from '../../../src/run/merge/merge-source.js';
import { rounds } from '../../support/seeds.js';

describe('The code of a key', () => {
  // Few characters, so that many keys share a beginning or differ in their length only.
  const character = fc.constantFrom('\0', '\x01', 'a', 'b', '\xff');
  const key = fc.string({ unit: character, maxLength: 8 }).map((text) => text as SortKey);

  it('never contradicts the order of the keys, and decides it where they first differ', () => {
    fc.assert(
      fc.property(key, key, fc.nat(8), (a, b, more) => {
        const same = commonPrefix(a, b);
        const at = Math.min(same, more);
        const [codeA, codeB] = [keyCode(a, at), keyCode(b, at)];
        if (codeA < codeB) expect(a < b).toBe(true);
        if (codeA > codeB) expect(a > b).toBe(true);
        if (a !== b) expect(keyCode(a, same)).not.toBe(keyCode(b, same));
      }),
      { numRuns: rounds(2000) },
    );
  });

  it('can start after the prefix of the first and the last key, which all keys between them have', () => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 2, maxLength: 6 }), (keys) => {
        const sorted = [...keys].sort();
        const length = commonPrefix(sorted[0]!, sorted.at(-1)!);
        const [shared, longer] = [sorted[0]!.slice(0, length), sorted[0]!.slice(0, length + 1)];
        expect(keys.every((one) => one.startsWith(shared))).toBe(true);
        expect(longer === shared || keys.some((one) => !one.startsWith(longer))).toBe(true);
      }),
    );
  });
});
