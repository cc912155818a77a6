import { describe, expect, it } from 'vitest';
import { LoopWatch } from '../../../src/temporal/worker/loop-watch.js';

/** A watch whose activities take time by calling `block`, and what it logs. */
function watched() {
  const clock = { at: 0, cpuMs: 0 };
  const logged: { message: string; connection: string | undefined }[] = [];
  let taken = 0;
  const watch = new LoopWatch({
    warn: (message, { connection }) => void logged.push({ message, connection }),
    now: () => clock.at,
    cpuMs: () => {
      taken++;
      return clock.cpuMs;
    },
  });
  const block = (ms: number, cpuMs = ms) => {
    clock.at += ms;
    clock.cpuMs += cpuMs;
  };
  return { watch, block, logged, taken: () => taken };
}

describe('a worker', () => {
  it('logs the connection of an activity that blocks the event loop for more than 5 s', async () => {
    const { watch, block, logged } = watched();
    await watch.run({ connection: 'acme', resource: 'tasks' }, async () => block(6_000));
    expect(logged).toEqual([
      {
        connection: 'acme',
        message: 'the event loop was blocked for 5.5 s while this activity was running',
      },
    ]);
  });

  it('logs all activities that were running', async () => {
    const { watch, block, logged } = watched();
    await watch.run({ connection: 'acme' }, () =>
      watch.run({ connection: 'other' }, async () => block(60_000)),
    );
    expect(logged.map(({ connection }) => connection)).toEqual(['acme', 'other']);
  });

  it('logs neither a short block, nor a suspension of the process, nor the time between activities', async () => {
    const { watch, block, logged } = watched();
    await watch.run({ connection: 'acme' }, async () => block(4_000));
    await watch.run({ connection: 'acme' }, async () => block(100_000, 10));
    block(100_000);
    await watch.run({ connection: 'acme' }, async () => {});
    expect(logged).toEqual([]);
  });

  it('takes the CPU time of the process once for many short activities, and logs a block after them', async () => {
    const { watch, block, logged, taken } = watched();
    for (let n = 0; n < 500; n++) {
      block(0.1);
      await watch.run({ connection: 'acme' }, async () => {});
    }
    expect(taken()).toBeLessThanOrEqual(2);
    await watch.run({ connection: 'acme' }, async () => block(6_000));
    expect(logged.length).toBe(1);
  });

  it('logs a real block', async () => {
    const logged: string[] = [];
    const warn = (message: string) => void logged.push(message);
    let offset = 0;
    const watch = new LoopWatch({ warn, now: () => performance.now() + offset, cpuMs: () => offset });
    await watch.run({ connection: 'acme' }, async () => {
      offset = 7_000;
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
    expect(logged.length).toBe(1);
  });
});
