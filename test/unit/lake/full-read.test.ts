import { describe, expect, it } from 'vitest';
import { isFullReadDue, nextFullRead, type Read } from '../../../src/run/full-read.js';

const HOUR = 60 * 60_000;
const WEEK = 7 * 24 * HOUR;
const startedAt = '2026-11-21T02:00:00.000Z';
const START = Date.parse(startedAt);

const PAGES = { pages: 3, pageSize: 1000 };
const PLAIN = { isHeld: false, hasExactTotal: false, records: 20, countsChanges: null };

describe('a full read', () => {
  it('is due once per reconcileEvery, counted from the start of the last one', () => {
    const last = { startedAt, shifted: 0 };
    expect(isFullReadDue(last, START + WEEK - 1, WEEK)).toBe(false);
    expect(isFullReadDue(last, START + WEEK, WEEK)).toBe(true);
    expect(isFullReadDue(last, START + 100 * WEEK, null)).toBe(false);
  });

  it('is due after one whose clock was ahead', () => {
    const ahead = { startedAt, shifted: 0 };
    expect(isFullReadDue(ahead, START - 1, WEEK)).toBe(false);
    expect(isFullReadDue(ahead, START - 2 * HOUR, WEEK)).toBe(true);
    expect(isFullReadDue(ahead, START - 2 * HOUR, null)).toBe(false);
    expect(isFullReadDue({ startedAt, shifted: 2 }, START - 2 * HOUR, null)).toBe(true);
  });

  it('is due if no earlier one is known, unless it is turned off', () => {
    expect(isFullReadDue(null, START, WEEK)).toBe(true);
    expect(isFullReadDue(null, START, null)).toBe(false);
  });

  it('is due immediately after a run whose list kept shifting, and then daily until one does not', () => {
    const once = nextFullRead(
      { startedAt, shifted: 0 },
      { mode: 'increment', startedAt: START, shifted: true, ...PAGES, ...PLAIN },
    );
    expect(once).toEqual({ startedAt, shifted: 1 });
    expect(isFullReadDue(once, START, null)).toBe(true);
    const twice = nextFullRead(once, {
      mode: 'full',
      startedAt: START + HOUR,
      shifted: true,
      ...PAGES,
      ...PLAIN,
    });
    expect(isFullReadDue(twice, START + 2 * HOUR, null)).toBe(false);
    expect(isFullReadDue(twice, START + 22 * HOUR, null)).toBe(true);
    const good = nextFullRead(twice, {
      mode: 'full',
      startedAt: START + 22 * HOUR,
      shifted: false,
      ...PAGES,
      ...PLAIN,
    });
    expect(good).toEqual({ startedAt: new Date(START + 22 * HOUR).toISOString(), shifted: 0, ...PAGES });
  });

  it('keeps what earlier full reads have shown of totals, unless it shows another thing', () => {
    const before = { startedAt, shifted: 0, hasExactTotal: true, listed: 10, countsChanges: true };
    const shown = (run: Pick<Read, 'hasExactTotal' | 'countsChanges' | 'shifted'>) => {
      const { hasExactTotal, listed, countsChanges } = nextFullRead(before, {
        ...{ mode: 'full', startedAt: START, isHeld: false, records: 20, ...PAGES },
        ...run,
      })!;
      return [hasExactTotal, listed, countsChanges];
    };
    expect([
      shown({ shifted: false, hasExactTotal: null, countsChanges: null }),
      shown({ shifted: false, hasExactTotal: false, countsChanges: null }),
      shown({ shifted: true, hasExactTotal: false, countsChanges: null }),
      // A run that is incomplete because of such a total is the last one.
      shown({ shifted: true, hasExactTotal: true, countsChanges: false }),
      shown({ shifted: false, hasExactTotal: true, countsChanges: null }),
    ]).toEqual([
      [true, 10, true],
      [undefined, undefined, true],
      [true, 10, true],
      [true, 10, false],
      [true, 20, true],
    ]);
  });

  it('stays due after a successful increment', () => {
    const owed = { startedAt, shifted: 1 };
    expect(
      nextFullRead(owed, { mode: 'increment', startedAt: START, shifted: false, ...PAGES, ...PLAIN }),
    ).toEqual(owed);
    expect(
      nextFullRead(null, { mode: 'increment', startedAt: START, shifted: false, ...PAGES, ...PLAIN }),
    ).toBeNull();
    const unknown = nextFullRead(null, {
      mode: 'increment',
      startedAt: START,
      shifted: true,
      ...PAGES,
      ...PLAIN,
    });
    expect(isFullReadDue(unknown, START, null)).toBe(true);
  });
});
