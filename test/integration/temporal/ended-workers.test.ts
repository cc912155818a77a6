import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Stack, startStack } from '../../support/stack.js';

describe('a worker that has ended', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('leaves no context behind that makes later promises of its process slower, as on Node 20', async () => {
    const enabled = new Set<unknown>();
    const { run, disable } = AsyncLocalStorage.prototype;
    vi.spyOn(AsyncLocalStorage.prototype, 'run').mockImplementation(function (this: unknown, ...args) {
      enabled.add(this);
      return run.apply(this, args as never);
    });
    vi.spyOn(AsyncLocalStorage.prototype, 'disable').mockImplementation(function (this: unknown) {
      enabled.delete(this);
      disable.call(this);
    });
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
    const life = async (): Promise<number> => {
      const worker = await stack.startWorker();
      expect(await stack.export()).toMatchObject({ outcome: 'published' });
      await worker.stop();
      return enabled.size;
    };
    // The first one uses those of modules, too, which stay.
    const first = await life();
    expect(first).toBeGreaterThan(0);
    expect(await life()).toBe(first);
  });
});
