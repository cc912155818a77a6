import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExportPlan, NoticesState } from '../../../src/core/contract/index.js';
import {
  MAX_WAIT_MS,
  newNotices,
  nextStep,
  noticeReceived,
  QUIET_MS,
  requestedRunEnded,
  runRequested,
} from '../../../src/mirror/notice-rules.js';

const planWith = (minIntervalMs: number): ExportPlan => ({
  resources: ['tasks'],
  giveUpAfterMs: 1,
  minIntervalMs,
  alerts: true,
});
const fresh = newNotices('acme', 'tasks');

describe('change notices', () => {
  it('lead to no run if none arrives', () => {
    expect(nextStep(fresh, 0)).toEqual({ kind: 'end' });
  });

  it('lead to one run once no further notice arrives', () => {
    const state = noticeReceived(noticeReceived(fresh, 1_000), 3_000);
    expect(nextStep(state, 3_000)).toEqual({ kind: 'wait', ms: QUIET_MS });
    expect(nextStep(state, 3_000 + QUIET_MS)).toEqual({ kind: 'request-run' });
  });

  it('lead to a run after the quiet time that their sender chose', () => {
    const state = noticeReceived(newNotices('acme', 'tasks', 300), 1_000);
    expect(nextStep(state, 1_000)).toEqual({ kind: 'wait', ms: 300 });
    expect(nextStep(state, 1_300)).toEqual({ kind: 'request-run' });
  });

  it('wait for a quiet period only up to the maximum wait', () => {
    let state: NoticesState = fresh;
    for (let now = 0; now <= MAX_WAIT_MS - 1_000; now += 1_000) state = noticeReceived(state, now);
    expect(nextStep(state, MAX_WAIT_MS - 1)).toEqual({ kind: 'wait', ms: 1 });
    expect(nextStep(state, MAX_WAIT_MS)).toEqual({ kind: 'request-run' });
  });

  it('change notices that arrive during a run lead to one more run after the minimum interval', () => {
    let state = runRequested(noticeReceived(fresh, 0), planWith(900_000), 5_000);
    expect(nextStep(state, 5_000)).toEqual({ kind: 'await-report' });
    state = noticeReceived(noticeReceived(state, 6_000), 7_000);
    state = requestedRunEnded(state, 5_500, 60_000);
    expect(nextStep(state, 60_000)).toEqual({ kind: 'wait', ms: 900_000 });
    expect(nextStep(state, 960_000)).toEqual({ kind: 'request-run' });
  });

  it('change notices that arrive before the run starts lead to no further run, however late it starts', () => {
    const state = noticeReceived(runRequested(noticeReceived(fresh, 0), planWith(10), 5_000), 6_000);
    expect(requestedRunEnded(state, 6_001, 60_000).pending).toBeNull();
    expect(requestedRunEnded(state, 6_000, 60_000).pending).toEqual({ firstAt: 6_000, lastAt: 6_000 });
  });

  it('do not repeat a failed run, but a notice after its request leads to another', () => {
    const failed = requestedRunEnded(runRequested(noticeReceived(fresh, 0), planWith(0), 5_000), null, 6_000);
    expect(nextStep(failed, 6_000)).toEqual({ kind: 'end' });
    const more = requestedRunEnded(
      noticeReceived(runRequested(noticeReceived(fresh, 0), planWith(0), 5_000), 5_500),
      null,
      6_000,
    );
    expect(more.pending).not.toBeNull();
  });

  it('keep the workflow open until the minimum interval has passed', () => {
    const state = requestedRunEnded(
      runRequested(noticeReceived(fresh, 0), planWith(900_000), 5_000),
      5_500,
      10_000,
    );
    expect(nextStep(state, 10_000)).toEqual({ kind: 'rest', ms: 900_000 });
    expect(nextStep(noticeReceived(state, 20_000), 25_000)).toEqual({ kind: 'wait', ms: 885_000 });
    expect(nextStep(state, 910_000)).toEqual({ kind: 'end' });
  });

  it('are all satisfied by a later run, and runs keep the minimum interval, for any sequence', () => {
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
            while (left.length > 0 && left[0]! <= time) state = noticeReceived(state, left.shift()!);
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
              state = runRequested(state, planWith(minInterval), now);
              const askedAt = now;
              const beganAt = now + delay;
              hearUpTo(beganAt + lasts);
              runs.push({ askedAt, beganAt, endedAt: now });
              state = requestedRunEnded(state, beganAt, now);
            }
          }
          for (const notice of notices) {
            const at = runs.findIndex(({ beganAt }) => beganAt >= notice);
            expect(at).toBeGreaterThanOrEqual(0);
            const [before, run] = [runs[at - 1], runs[at]];
            const free = Math.max(notice, (before?.endedAt ?? 0) + minInterval);
            expect(run!.askedAt).toBeLessThanOrEqual(free + MAX_WAIT_MS);
          }
          for (const [at, run] of runs.entries()) {
            if (at > 0) expect(run.askedAt - runs[at - 1]!.endedAt).toBeGreaterThanOrEqual(minInterval);
          }
        },
      ),
    );
  });
});
