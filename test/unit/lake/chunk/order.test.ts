import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderOf } from '../../../../src/lake/chunk/write-chunk.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';

/** Keys with few different characters, so that prefixes and whole keys are often equal; with NUL and the largest byte. */
const anyKey = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', '\x01', 'a', 'b', 'ÿ'), maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('a', 'b') }).map((end) => `a long prefix in common ${end}`),
);
const anyKeys = fc.array(anyKey as fc.Arbitrary<SortKey>, { maxLength: 200 });

const expected = (keys: readonly SortKey[]): number[] =>
  keys.map((_, at) => at).sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));

describe('The order of keys', () => {
  it('is that of comparing them, and equal keys keep their order', () => {
    fc.assert(
      fc.property(anyKeys, (keys) => {
        const { order, repeats } = orderOf(keys);
        expect([...order]).toEqual(expected(keys));
        expect(repeats).toBe(new Set(keys).size < keys.length);
      }),
    );
  });

  it('holds for keys that differ in a few characters, as ids do', () => {
    const ids = Array.from(
      { length: 30_000 },
      (_, at) => `01H${((at * 7919) % 10_007).toString(32)}` as SortKey,
    );
    const { order, repeats } = orderOf(ids);
    expect([...order]).toEqual(expected(ids));
    expect(repeats).toBe(true);
  });

  it('holds for more keys than one pass can number', () => {
    const many = Array.from({ length: 2 ** 20 + 1 }, (_, at) => String((at * 7919) % 1_000_003) as SortKey);
    const { order, repeats } = orderOf(many);
    let isSorted = true;
    for (let at = 1; at < order.length; at++) isSorted &&= many[order[at - 1]!]! <= many[order[at]!]!;
    expect(isSorted).toBe(true);
    expect(repeats).toBe(true);
  });
});
