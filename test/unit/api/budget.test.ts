import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fasterPace, slowerPace } from '../../../src/api/budget.js';
import { type Acquired, type Lease, RateBudget } from '../../../src/api/index.js';
import { rejection } from './support.js';

const PATIENT = { maxHoldMs: 3_600_000 };

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function budget(concurrency: number, requestsPerSecond: number | null = null): RateBudget {
  return new RateBudget({ concurrency, requestsPerSecond, now: Date.now });
}

function granted(acquired: Acquired): Lease {
  if (acquired.kind !== 'granted') throw new Error('It was held back.');
  return acquired.lease;
}

async function lease(from: RateBudget): Promise<Lease> {
  return granted(await from.acquire(PATIENT));
}

/** Acquires a lease and logs when it was granted. */
function ask(from: RateBudget, name: string, log: string[]): Promise<Lease> {
  return from.acquire(PATIENT).then((acquired) => {
    log.push(`${name}@${Date.now() - 1_000_000}`);
    return granted(acquired);
  });
}

describe('concurrency', () => {
  test('concurrent requests never exceed the limit, and waiting requests start in order of arrival', async () => {
    const one = budget(2);
    const log: string[] = [];
    const leases = ['a', 'b', 'c', 'd'].map((name) => ask(one, name, log));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log).toEqual(['a@0', 'b@0']);
    expect(one.state).toMatchObject({ inFlight: 2, queued: 2 });
    (await leases[1])?.release({ kind: 'success' });
    await vi.advanceTimersByTimeAsync(0);
    expect(log).toEqual(['a@0', 'b@0', 'c@10000']);
  });

  test('requests in the background start after all others that wait', async () => {
    const one = budget(1);
    const log: string[] = [];
    const asked = (name: string, isBackground: boolean): Promise<number> =>
      one.acquire({ ...PATIENT, isBackground }).then((acquired) => {
        granted(acquired).release({ kind: 'success' });
        return log.push(name);
      });
    const first = await lease(one);
    const all = [
      asked('audit 1', true),
      asked('run 1', false),
      asked('audit 2', true),
      asked('run 2', false),
    ];
    first.release({ kind: 'success' });
    await Promise.all(all);
    expect(log).toEqual(['run 1', 'run 2', 'audit 1', 'audit 2']);
  });

  test('releasing a lease twice frees only one place', async () => {
    const one = budget(1);
    const first = await lease(one);
    first.release({ kind: 'success' });
    first.release({ kind: 'success' });
    expect(one.state.inFlight).toBe(0);
  });
});

describe('a lease immediately', () => {
  test('is granted up to the limit, and never before a waiting request', async () => {
    const one = budget(2);
    const first = one.tryAcquire();
    await lease(one);
    expect(one.tryAcquire()).toBeNull();
    const log: string[] = [];
    const waiting = ask(one, 'a', log);
    first?.release({ kind: 'success' });
    expect(one.tryAcquire()).toBeNull();
    (await waiting).release({ kind: 'success' });
    expect(one.tryAcquire()).not.toBeNull();
  });

  test('is not granted within a hold, nor between two evenly spaced requests', async () => {
    const one = budget(8, 10);
    one.tryAcquire()?.release({ kind: 'success' });
    expect(one.tryAcquire()).toBeNull();
    await vi.advanceTimersByTimeAsync(100);
    one.tryAcquire()?.release({ kind: 'hold', delayMs: 5_000 });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(one.tryAcquire()).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(one.tryAcquire()).not.toBeNull();
  });
});

describe('requests per second', () => {
  test('requests are evenly spaced, and idle time does not allow a burst', async () => {
    const one = budget(10, 4);
    const log: string[] = [];
    for (const name of ['a', 'b', 'c']) void ask(one, name, log);
    await vi.advanceTimersByTimeAsync(10_000);
    for (const name of ['d', 'e']) void ask(one, name, log);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(log).toEqual(['a@0', 'b@250', 'c@500', 'd@10000', 'e@10250']);
  });
});

describe('the budget after a 429', () => {
  test('no request starts before the time in Retry-After', async () => {
    const one = budget(2);
    const log: string[] = [];
    (await lease(one)).release({ kind: 'throttled', delayMs: 5_000 });
    void ask(one, 'a', log);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(log).toEqual([]);
    expect(one.state.waitingUntil).toBe(1_005_000);
    await vi.advanceTimersByTimeAsync(1);
    expect(log).toEqual(['a@5000']);
    expect(one.state.waitingUntil).toBeNull();
  });

  test('a shorter wait does not replace a longer one', async () => {
    const one = budget(2);
    const [a, b] = [await lease(one), await lease(one)];
    a.release({ kind: 'throttled', delayMs: 5_000 });
    b.release({ kind: 'hold', delayMs: 1_000 });
    expect(one.state.waitingUntil).toBe(1_005_000);
  });

  test('the pace halves once for all requests in flight, and again for a later one', async () => {
    const one = budget(8, 80);
    const together: Lease[] = [];
    for (let i = 0; i < 4; i += 1) {
      together.push(await lease(one));
      await vi.advanceTimersByTimeAsync(13);
    }
    for (const each of together) each.release({ kind: 'throttled', delayMs: 0 });
    expect(one.state).toMatchObject({ concurrency: 4, requestsPerSecond: 40 });
    await vi.advanceTimersByTimeAsync(50);
    (await lease(one)).release({ kind: 'throttled', delayMs: 0 });
    expect(one.state).toMatchObject({ concurrency: 2, requestsPerSecond: 20 });
  });

  test('the pace recovers with successes, up to its ceiling', async () => {
    const one = budget(4, 1_000);
    (await lease(one)).release({ kind: 'throttled', delayMs: 0 });
    expect(one.state).toMatchObject({ concurrency: 2, requestsPerSecond: 500 });
    const seen = new Set<number>();
    for (let i = 0; i < 100; i += 1) {
      await vi.advanceTimersByTimeAsync(10);
      (await lease(one)).release({ kind: 'success' });
      seen.add(one.state.concurrency);
    }
    expect([...seen]).toEqual([2, 3, 4]);
    expect(one.state.requestsPerSecond).toBe(1_000);
  });

  test('a hold without a 429 does not change the pace', async () => {
    const one = budget(4);
    (await lease(one)).release({ kind: 'hold', delayMs: 1_000 });
    expect(one.state.concurrency).toBe(4);
    expect(one.state.waitingUntil).not.toBeNull();
  });

  test('a request that would wait too long returns held, even if it is already waiting', async () => {
    const one = budget(1);
    const first = await lease(one);
    const queued = one.acquire({ maxHoldMs: 20_000 });
    first.release({ kind: 'throttled', delayMs: 60_000 });
    expect(await queued).toEqual({ kind: 'held', untilMs: 1_060_000 });
    expect(await one.acquire({ maxHoldMs: 20_000 })).toEqual({ kind: 'held', untilMs: 1_060_000 });
    expect(one.state.queued).toBe(0);
  });

  test('a waiting request is notified of the hold and its end', async () => {
    const one = budget(1);
    const heard: number[] = [];
    const first = await lease(one);
    void one.acquire({ ...PATIENT, onHold: (until) => heard.push(until) });
    expect(heard).toEqual([]);
    first.release({ kind: 'throttled', delayMs: 2_000 });
    expect(heard).toEqual([1_002_000]);
  });
});

describe('aborting', () => {
  test('an aborted wait rejects with the reason of the signal, and the next request proceeds', async () => {
    const one = budget(1);
    const log: string[] = [];
    const first = await lease(one);
    const controller = new AbortController();
    const waiting = one.acquire({ ...PATIENT, signal: controller.signal });
    void ask(one, 'next', log);
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await rejection(waiting)).toBe(reason);
    first.release({ kind: 'success' });
    await vi.advanceTimersByTimeAsync(0);
    expect(log).toEqual(['next@0']);
  });

  test('a signal that is already aborted takes no place', async () => {
    const one = budget(1);
    await rejection(one.acquire({ ...PATIENT, signal: AbortSignal.abort() }));
    expect(one.state).toMatchObject({ inFlight: 0, queued: 0 });
  });
});

describe('pace', () => {
  test('the pace stays between its floor and its ceiling, and the concurrency is at least one', () => {
    const ceiling = fc.record({
      concurrency: fc.integer({ min: 1, max: 50 }),
      perSecond: fc.integer({ min: 1, max: 99 }),
    });
    fc.assert(
      fc.property(ceiling, fc.array(fc.boolean(), { maxLength: 300 }), (top, steps) => {
        let pace = top;
        for (const faster of steps) {
          pace = (faster ? fasterPace(pace, top) : slowerPace(pace, top)) as typeof top;
          expect(pace.concurrency).toBeGreaterThanOrEqual(1);
          expect(pace.concurrency).toBeLessThanOrEqual(top.concurrency);
          expect(pace.perSecond).toBeGreaterThanOrEqual(top.perSecond / 64);
          expect(pace.perSecond).toBeLessThanOrEqual(top.perSecond);
        }
      }),
    );
  });
});
