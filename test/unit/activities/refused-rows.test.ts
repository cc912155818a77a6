import { describe, expect, it } from 'vitest';
import { HeldRows } from '../../../activities/write-back/refusals.js';
import { seededRandom } from '../../support/random.js';

describe('held rows', () => {
  it('are released by a row only if its request began after their refusals had arrived', () => {
    const held = new HeldRows<string>();
    const before = held.begin();
    held.hold('a');
    const between = held.begin();
    held.hold('b');
    expect(held.accepted(before)).toEqual([]);
    expect([held.size, held.last]).toEqual([2, 'b']);
    expect(held.accepted(between)).toEqual(['a']);
    expect(held.accepted(held.begin())).toEqual(['b']);
    expect([held.size, held.last]).toEqual([0, null]);
  });

  it('are never released after the key was revoked, in whatever order requests overlap', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed);
      const held = new HeldRows<number>();
      const open: { readonly row: number; readonly begun: number; readonly isValid: boolean }[] = [];
      const [last, revokedAt] = [40, random.below(40)];
      const released: number[] = [];
      // The service decides when a request arrives; its responses arrive in any order.
      for (let row = 0; row < last || open.length > 0; ) {
        if (row < last && (open.length === 0 || (open.length < 4 && random.share() < 0.6))) {
          open.push({ row, begun: held.begin(), isValid: row < revokedAt });
          row++;
        } else {
          const [one] = open.splice(random.below(open.length), 1);
          if (one!.isValid) released.push(...held.accepted(one!.begun));
          else held.hold(one!.row);
        }
      }
      expect(released, `seed ${seed}`).toEqual([]);
      expect(held.size).toBe(last - revokedAt);
    }
  });
});
