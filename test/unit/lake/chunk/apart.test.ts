import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isApart } from '../../../../src/lake/chunk/write-chunk.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';

const keyOf = (n: number) => String(n).padStart(2, '0') as SortKey;

describe('Rows', () => {
  it('are apart from chunks if no key of a chunk is between their first and last key, or the other way round', () => {
    const some = fc.array(fc.nat(60), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, fc.array(some, { maxLength: 4 }), (own, others) => {
        const numbers = (list: readonly number[]) => {
          const [from, to] = [Math.min(...list), Math.max(...list)];
          return Array.from({ length: to - from + 1 }, (_, at) => from + at);
        };
        const spanOf = (list: readonly number[]) => ({
          first: keyOf(Math.min(...list)),
          last: keyOf(Math.max(...list)),
        });
        const chunks = others.map(spanOf);
        const shared = others.some((list) => numbers(list).some((n) => numbers(own).includes(n)));
        expect(isApart(spanOf(own), chunks)).toBe(!shared);
      }),
    );
  });
});
