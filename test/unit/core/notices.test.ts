import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExportPlan, NoticesState } from '../../../src/core/contract.js';
import {
  answered,
  askedFor,
  LONGEST_WAIT_MS,
  newNotices,
  nextStep,
  noticed,
  QUIET_MS,
} from '../../../src/core/notices.js';

const planWith = (minIntervalMs: number): ExportPlan => ({
  resources: ['tasks'],
  giveUpAfterMs: 1,
  minIntervalMs,
});
const fresh = newNotices('acme', 'tasks');

describe('what change notices lead to', () => {
  it('is nothing without one', () => {
    expect(nextStep(fresh, 0)).toEqual({ kind: 'end' });
  });

  it('is one run once it is quiet', () => {
    const state = noticed(noticed(fresh, 1_000), 3_000);
    expect(nextStep(state, 3_000)).toEqual({ kind: 'wait', ms: QUIET_MS });
    expect(nextStep(state, 3_000 + QUIET_MS)).toEqual({ kind: 'ask' });
  });

  it('waits no longer than so for quiet that does not come', () => {
    let state: NoticesState = fresh;
    for (let now = 0; now <= LONGEST_WAIT_MS - 1_000; now += 1_000) state = noticed(state, now);
    expect(nextStep(state, LONGEST_WAIT_MS - 1)).toEqual({ kind: 'wait', ms: 1 });
    expect(nextStep(state, LONGEST_WAIT_MS)).toEqual({ kind: 'ask' });
  });

  it('is one more run for whatever came while one was going on, after the least interval', () => {
    let state = askedFor(noticed(fresh, 0), planWith(900_000), 5_000);
    expect(nextStep(state, 5_000)).toEqual({ kind: 'await-answer' });
    state = noticed(noticed(state, 6_000), 7_000);
    state = answered(state, 5_500, 60_000);
    expect(nextStep(state, 60_000)).toEqual({ kind: 'wait', ms: 900_000 });
    expect(nextStep(state, 960_000)).toEqual({ kind: 'ask' });
  });

  it('is no further run for what came before the run began, however long that took', () => {
    const state = noticed(askedFor(noticed(fresh, 0), planWith(10), 5_000), 6_000);
    expect(answered(state, 6_001, 60_000).owed).toBeNull();
    expect(answered(state, 6_000, 60_000).owed).toEqual({ firstAt: 6_000, lastAt: 6_000 });
  });

  it('is no second try for a run that failed, but one for what came after it was asked for', () => {
    const failed = answered(askedFor(noticed(fresh, 0), planWith(0), 5_000), null, 6_000);
    expect(nextStep(failed, 6_000)).toEqual({ kind: 'end' });
    const more = answered(noticed(askedFor(noticed(fresh, 0), planWith(0), 5_000), 5_500), null, 6_000);
    expect(more.owed).not.toBeNull();
  });

  it('stays until the least interval is over, so that the next notice is held to it', () => {
    const state = answered(askedFor(noticed(fresh, 0), planWith(900_000), 5_000), 5_500, 10_000);
    expect(nextStep(state, 10_000)).toEqual({ kind: 'rest', ms: 900_000 });
    expect(nextStep(noticed(state, 20_000), 25_000)).toEqual({ kind: 'wait', ms: 885_000 });
    expect(nextStep(state, 910_000)).toEqual({ kind: 'end' });
  });

  it('satisfies every notice by a run that begins after it, runs apart, whatever comes when', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 40 });
    const busy = fc.integer({ min: 0, max: 50_000 });
    fc.assert(
      fc.property(
        gaps,
        fc.integer({ min: 0, max: 60_000 }),
        busy,
        busy,
        (between, minInterval, delay, lasts) => {
          const notices: number[] = [];
          for (const gap of between) notices.push((notices.at(-1) ?? 0) + gap);
          const left = [...notices];
          const runs: { beganAt: number; endedAt: number; askedAt: number }[] = [];
          let state: NoticesState = fresh;
          let now = 0;
          const hearUpTo = (time: number): void => {
            while (left.length > 0 && left[0]! <= time) state = noticed(state, left.shift()!);
            now = time;
          };
          for (let steps = 0; ; steps++) {
            expect(steps).toBeLessThan(1_000);
            hearUpTo(now);
            const step = nextStep(state, now);
            if (step.kind === 'end') {
              if (left.length === 0) break;
              hearUpTo(left[0]!);
            } else if (step.kind === 'wait') hearUpTo(now + step.ms);
            else if (step.kind === 'rest')
              hearUpTo(Math.min(now + step.ms, left[0] ?? Number.POSITIVE_INFINITY));
            else {
              state = askedFor(state, planWith(minInterval), now);
              const askedAt = now;
              const beganAt = now + delay;
              hearUpTo(beganAt + lasts);
              runs.push({ askedAt, beganAt, endedAt: now });
              state = answered(state, beganAt, now);
            }
          }
          for (const notice of notices) {
            const at = runs.findIndex(({ beganAt }) => beganAt >= notice);
            expect(at).toBeGreaterThanOrEqual(0);
            const [before, run] = [runs[at - 1], runs[at]];
            const free = Math.max(notice, (before?.endedAt ?? 0) + minInterval);
            expect(run!.askedAt).toBeLessThanOrEqual(free + LONGEST_WAIT_MS);
          }
          for (const [at, run] of runs.entries()) {
            if (at > 0) expect(run.askedAt - runs[at - 1]!.endedAt).toBeGreaterThanOrEqual(minInterval);
          }
        },
      ),
    );
  });
});
