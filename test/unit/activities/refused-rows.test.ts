import { describe, expect, it } from 'vitest';
import { HeldRows, LimitedRows, WORDS_BUDGET_MS } from '../../../activities/write-back/refusals.js';
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

describe('rows that wait for a limit', () => {
  it('wait longer each time, and are due immediately when another row was accepted', () => {
    const rows = new LimitedRows<string>(null);
    rows.refused('a', 5);
    expect(rows.wait('a', 1000)).toBe(true);
    expect([rows.nextDue, rows.since]).toEqual([2000, 1000]);
    expect(rows.takeDue(1999)).toBeNull();
    expect(rows.takeDue(2000)).toBe('a');
    rows.refused('a', 9);
    expect(rows.wait('a', 2000)).toBe(true);
    expect(rows.nextDue).toBe(4000);
    rows.accepted('b', 7);
    expect([rows.takeDue(2001), rows.since]).toEqual(['a', null]);
    rows.refused('a', 11);
    // It was refused before and after a row that was accepted: the limit is its own.
    expect(rows.wait('a', 2001)).toBe(false);
  });

  it('share one budget, which an accepted row ends, and which survives the attempt', () => {
    const rows = new LimitedRows<string>(null);
    rows.refused('a', 1);
    expect(rows.wait('a', 0)).toBe(true);
    rows.refused('b', 2);
    expect(rows.wait('b', WORDS_BUDGET_MS - 1)).toBe(true);
    rows.refused('c', 3);
    expect(rows.wait('c', WORDS_BUDGET_MS)).toBe(false);
    const next = new LimitedRows<string>(rows.since);
    next.refused('d', 1);
    expect(next.wait('d', WORDS_BUDGET_MS)).toBe(false);
    next.accepted('e', 4);
    next.refused('f', 5);
    expect(next.wait('f', WORDS_BUDGET_MS)).toBe(true);
  });

  it('let new rows follow slowly, so that few of them run into the limit', () => {
    const rows = new LimitedRows<number>(null);
    let sent = 0;
    for (let now = 0; now < WORDS_BUDGET_MS; now += 100) {
      if (!rows.mayTakeNew(now)) continue;
      rows.tookNew(now);
      rows.refused(sent, sent + 1);
      rows.wait(sent++, now);
    }
    expect(sent).toBeGreaterThan(10);
    expect(sent).toBeLessThan(40);
  });
});
