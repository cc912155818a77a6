import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Turns } from '../../../src/core/turns.js';

/** Turns in which work counts as long at once. */
const strict = () => new Turns({ longMs: 0, graceMs: 0 });

describe('turns of the connections in one process', () => {
  it('let long work wait until short work of another connection has ended', async () => {
    const turns = strict();
    const order: string[] = [];
    let endNight = (): void => {};
    const night = turns.run('small', async () => {
      await new Promise<void>((resolve) => {
        endNight = resolve;
      });
      order.push('night');
    });
    const load = turns.run('large', async () => {
      await delay(20);
      const next = turns.next();
      endNight();
      await next;
      order.push('load');
    });
    await Promise.all([night, load]);
    expect(order).toEqual(['night', 'load']);
  });

  it('do not stop long work for longer than a limited time', async () => {
    const turns = strict();
    let end = (): void => {};
    const hanging = turns.run(
      'small',
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    let pieces = 0;
    await turns.run('large', async () => {
      for (; pieces < 3; pieces++) {
        await delay(20);
        await turns.next();
      }
    });
    expect(pieces).toBe(3);
    end();
    await hanging;
  });

  it('let neither short work nor work of the same connection wait', async () => {
    let now = 0;
    const turns = new Turns({ longMs: 1000, graceMs: 0, now: () => now });
    let end = (): void => {};
    const other = turns.run(
      'a',
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    // With this clock, a pause would never end.
    await turns.run('b', () => turns.next());
    await turns.run('a', async () => {
      now = 5000;
      await turns.next();
    });
    await turns.next();
    end();
    await other;
  });

  it('count the steps of a load as one long work, so that a new step does not make others wait', async () => {
    let now = 0;
    const turns = new Turns({ longMs: 1000, shortMs: 3000, graceMs: 0, now: () => now });
    await turns.run('load', async () => {
      now = 2000;
    });
    let end = (): void => {};
    const step = turns.run('load', () => new Promise<void>((resolve) => (end = resolve)));
    // With this clock, a pause would never end.
    await turns.run('other', async () => {
      now = 4000;
      await turns.next();
    });
    end();
    await step;
  });
});
