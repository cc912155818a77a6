import { describe, expect, it } from 'vitest';
import type { Meter } from '../../../src/core/metrics.js';
import { leastRetryingMs, RetryWatch } from '../../../src/temporal/worker/gauges.js';

const MINUTE = 60_000;
const tasks = { connection: 'acme', resource: 'tasks' };

/** A watch with a clock, and what it recorded last. */
function watched() {
  const world = { now: 0, seconds: -1 };
  const meter: Meter = {
    record(_metric, value) {
      world.seconds = value;
    },
  };
  return { world, watch: new RetryWatch(meter, () => world.now) };
}

describe('the time that a run has been retrying', () => {
  it('starts with the first failure and ends with a success', () => {
    const { world, watch } = watched();
    watch.failed('a', tasks, 1);
    expect(world.seconds).toBe(0);
    world.now = 5 * MINUTE;
    watch.failed('a', tasks, 8);
    expect(world.seconds).toBe(300);
    watch.ended('a', tasks);
    expect(world.seconds).toBe(0);
  });

  it('is that of the longest of several steps, and of its own resource only', () => {
    const { world, watch } = watched();
    watch.failed('a', tasks, 1);
    world.now = MINUTE;
    watch.failed('b', tasks, 1);
    watch.ended('b', tasks);
    expect(world.seconds).toBe(60);
    watch.measure({ connection: 'acme', resource: 'projects' });
    expect(world.seconds).toBe(0);
  });

  it('follows from the number of attempts if another worker saw the first ones', () => {
    expect(leastRetryingMs(1)).toBe(0);
    expect(leastRetryingMs(4)).toBe(7_000);
    // 1 + 2 + 4 + 8 + 16 + 32 seconds, then a minute each.
    expect(leastRetryingMs(100)).toBe(63_000 + 93 * MINUTE);
    const { world, watch } = watched();
    watch.failed('a', tasks, 4);
    expect(world.seconds).toBe(7);
  });

  it('ends if no further attempt of this worker fails, except during a wait that the service asked for', () => {
    const { world, watch } = watched();
    watch.failed('a', tasks, 1, 60 * MINUTE);
    world.now = 65 * MINUTE;
    watch.measure(tasks);
    expect(world.seconds).toBe(65 * 60);
    world.now = 71 * MINUTE;
    watch.measure(tasks);
    expect(world.seconds).toBe(0);
  });
});
