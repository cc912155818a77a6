import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Fairness } from '../../../src/core/fairness.js';

/** Fairness that counts all work as long. */
const strict = () => new Fairness({ longMs: 0, graceMs: 0 });

describe('the fairness between connections in one process', () => {
  it('let long work wait until short work of another connection has ended', async () => {
    const fairness = strict();
    const order: string[] = [];
    let endNight = (): void => {};
    const night = fairness.run('small', async () => {
      await new Promise<void>((resolve) => {
        endNight = resolve;
      });
      order.push('night');
    });
    const load = fairness.run('large', async () => {
      await delay(20);
      const next = fairness.giveWay();
      endNight();
      await next;
      order.push('load');
    });
    await Promise.all([night, load]);
    expect(order).toEqual(['night', 'load']);
  });

  it('do not stop long work for longer than a limited time', async () => {
    const fairness = strict();
    let end = (): void => {};
    const hanging = fairness.run(
      'small',
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    let pieces = 0;
    await fairness.run('large', async () => {
      for (; pieces < 3; pieces++) {
        await delay(20);
        await fairness.giveWay();
      }
    });
    expect(pieces).toBe(3);
    end();
    await hanging;
  });

  it('let neither short work nor work of the same connection wait', async () => {
    let now = 0;
    const fairness = new Fairness({ longMs: 1000, graceMs: 0, now: () => now });
    let end = (): void => {};
    const other = fairness.run(
      'a',
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    // With this clock, a pause would never end.
    await fairness.run('b', () => fairness.giveWay());
    await fairness.run('a', async () => {
      now = 5000;
      await fairness.giveWay();
    });
    await fairness.giveWay();
    end();
    await other;
  });

  it('count the steps of a load as one long work, so that a new step does not make others wait', async () => {
    let now = 0;
    const fairness = new Fairness({ longMs: 1000, shortMs: 3000, graceMs: 0, now: () => now });
    await fairness.run('load', async () => {
      now = 2000;
    });
    let end = (): void => {};
    const step = fairness.run('load', () => new Promise<void>((resolve) => (end = resolve)));
    // With this clock, a pause would never end.
    await fairness.run('other', async () => {
      now = 4000;
      await fairness.giveWay();
    });
    end();
    await step;
  });
});
