import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => vi.useRealTimers());

// A thread that was not woken takes its task when the next one comes.
it.skipIf(process.platform !== 'linux')(
  'gives the thread pool a task each second, once for each process',
  async () => {
    vi.resetModules();
    vi.useFakeTimers();
    const { keepThreadPoolAwake } = await import('../../../src/core/thread-pool.js');
    const tasks = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'FSReqCallback').length;
    keepThreadPoolAwake();
    keepThreadPoolAwake();
    expect(vi.getTimerCount()).toBe(1);
    const before = tasks();
    vi.advanceTimersByTime(3_000);
    expect(tasks() - before).toBe(3);
  },
);
