import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Clock, Coalescer } from '../../../src/webhook/coalescer.js';

/** A clock that the test advances. */
class ManualClock implements Clock {
  #now = 0;
  #due: { at: number; run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): void {
    this.#due.push({ at: this.#now + ms, run });
  }

  /** Advances to a time and runs all callbacks that are due. */
  async moveTo(time: number): Promise<void> {
    for (;;) {
      await settled();
      const [next] = this.#due.sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > time) break;
      this.#due.shift();
      this.#now = next.at;
      next.run();
    }
    this.#now = time;
    await settled();
  }
}

/** Lets pending microtasks run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

interface Signal {
  readonly at: number;
  readonly notices: number;
  until: number;
}

function setUp(lasts: (signal: number) => number, fails: (signal: number) => boolean = () => false) {
  const clock = new ManualClock();
  const signals: Signal[] = [];
  const coalescer = new Coalescer({
    spacingMs: 1_000,
    clock,
    send: (_key, notices) => {
      const number = signals.length;
      const signal: Signal = { at: clock.now(), notices, until: clock.now() + lasts(number) };
      signals.push(signal);
      return new Promise((resolve, reject) =>
        clock.after(lasts(number), () => (fails(number) ? reject(new Error('down')) : resolve())),
      );
    },
  });
  return { clock, signals, coalescer };
}

describe('the coalescer', () => {
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
    const times = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 10 });
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
          expect(signals[by]!.at).toBe(free);
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
