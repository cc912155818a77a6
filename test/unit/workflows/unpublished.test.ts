import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/duration.js';
import { newMirror } from '../../../src/core/mirror.js';
import { afterCleanUp, withUnpublished } from '../../../workflows/mirror/unpublished.js';

const RUN = '20261121T020000Z-00000001' as RunId;
const OTHER = '20261121T030000Z-00000002' as RunId;
const NOW = Date.parse('2026-11-21T04:00:00Z');
const LONG_AGO = Date.parse('2026-03-03T02:00:00Z');
const state = newMirror('acme', 'tasks');

describe('what a clean-up must check', () => {
  it('includes the day of a failed run or replaced attempt, if the clean-up would not look there', () => {
    const failed = { ...state, ...withUnpublished(state, [RUN], { nominalStart: LONG_AGO, now: NOW }) };
    expect(failed).toMatchObject({ unpublished: [RUN], cleanUpDays: ['2026-03-03'] });
    const again = withUnpublished(failed, [OTHER], { nominalStart: LONG_AGO, now: NOW });
    expect(again).toMatchObject({ unpublished: [RUN, OTHER], cleanUpDays: ['2026-03-03'] });
    const recent = withUnpublished(state, [RUN], { nominalStart: NOW - DAY_MS, now: NOW });
    expect(recent.cleanUpDays).toBeUndefined();
  });

  it('keeps the newest hundred days', () => {
    let many = state;
    for (let day = 0; day < 150; day++) {
      const nominalStart = LONG_AGO + day * DAY_MS;
      many = { ...many, ...withUnpublished(many, [], { nominalStart, now: NOW }) };
    }
    expect(many.cleanUpDays).toHaveLength(100);
    expect(many.cleanUpDays?.at(-1)).toBe('2026-07-30');
  });

  it('is nothing after a complete clean-up, once delayed requests can no longer arrive', () => {
    const failed = { ...state, ...withUnpublished(state, [RUN], { nominalStart: LONG_AGO, now: NOW }) };
    const cleanUp = (begun: number, complete: boolean) =>
      afterCleanUp(failed, { complete }, { runId: OTHER, startedAt: begun, begun, ended: begun });
    const late = cleanUp(NOW + HOUR_MS - 1, true);
    expect(late).toMatchObject({ cleanedUpTo: OTHER });
    expect(late).not.toHaveProperty('cleanUpDays');
    expect(cleanUp(NOW + HOUR_MS, false)).toEqual({ cleanUpDue: null, refused: null });
    expect(cleanUp(NOW + HOUR_MS, true)).toEqual({
      ...{ cleanedUpTo: OTHER, cleanUpDue: null, refused: null },
      ...{ unpublished: [], cleanUpDays: [], lateUntil: null },
    });
  });
});
