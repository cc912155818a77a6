import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Coalescer } from '../../../src/webhook/coalescer.js';

interface Signal {
  readonly at: number;
  readonly notices: number;
  until: number;
}

/** A coalescer, its signals, and a clock that begins at 0 and that the test advances. */
function setUp(lasts: (signal: number) => number, fails: (signal: number) => boolean = () => false) {
  vi.clearAllTimers();
  const began = performance.now();
  const clock = {
    now: () => performance.now() - began,
    moveTo: async (time: number) => {
      await vi.advanceTimersByTimeAsync(time - clock.now());
    },
  };
  const signals: Signal[] = [];
  const coalescer = new Coalescer((_key, notices) => {
    const number = signals.length;
    const signal: Signal = { at: clock.now(), notices, until: clock.now() + lasts(number) };
    signals.push(signal);
    return new Promise((resolve, reject) =>
      setTimeout(() => (fails(number) ? reject(new Error('down')) : resolve()), lasts(number)),
    );
  }, 1_000);
  return { clock, signals, coalescer };
}

describe('the coalescer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('sends immediately for the first notice, and one signal for all that arrive meanwhile', async () => {
    const { clock, signals, coalescer } = setUp(() => 10);
    const burst = Array.from({ length: 2_000 }, () => coalescer.notify('tasks'));
    await clock.moveTo(5_000);
    await Promise.all(burst);
    expect(signals.map(({ at, notices }) => [at, notices])).toEqual([
      [0, 1],
      [1_000, 1_999],
    ]);
  });

  it('sends separate signals for each key', async () => {
    const { clock, signals, coalescer } = setUp(() => 10);
    const both = Promise.all([coalescer.notify('tasks'), coalescer.notify('projects')]);
    await clock.moveTo(10);
    await both;
    expect(signals.map(({ at }) => at)).toEqual([0, 0]);
  });

  it('confirms each notice by a signal that starts after it, with the minimum distance and one at a time', async () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 30 });
    const times = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 10 });
    const bad = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(gaps, times, bad, async (between, lasts, failing) => {
        const fails = (signal: number): boolean => failing[signal % failing.length]!;
        const { clock, signals, coalescer } = setUp((signal) => lasts[signal % lasts.length]!, fails);
        const outcomes: { came: number; settled: number; ok: boolean }[] = [];
        let now = 0;
        for (const gap of between) {
          now += gap;
          await clock.moveTo(now);
          const came = now;
          const end = (ok: boolean) => () => void outcomes.push({ came, settled: clock.now(), ok });
          coalescer.notify('tasks').then(end(true), end(false));
        }
        await clock.moveTo(now + 100_000);
        expect(outcomes.length).toBe(between.length);
        for (const { came, settled, ok } of outcomes) {
          const by = signals.findIndex(({ at, until }) => at >= came && until === settled);
          expect(by).toBeGreaterThanOrEqual(0);
          expect(ok).toBe(!fails(by));
          // It waits only for the signal in flight and for its own.
          const before = signals[by - 1];
          const free = before === undefined ? came : Math.max(came, before.until, before.at + 1_000);
          // A timer waits for at least a millisecond.
          expect(signals[by]!.at - free).toBeOneOf([0, 1]);
        }
        for (const [at, signal] of signals.entries()) {
          if (at === 0) continue;
          expect(signal.at - signals[at - 1]!.at).toBeGreaterThanOrEqual(1_000);
          expect(signal.at).toBeGreaterThanOrEqual(signals[at - 1]!.until);
        }
        expect(signals.reduce((sum, { notices }) => sum + notices, 0)).toBe(between.length);
      }),
    );
  });
});
