import { describe, expect, it } from 'vitest';
import { call, idsOf, page, readAll, start } from './support.js';

describe('a hook', () => {
  it('changes records between two pages, once', async () => {
    const simulator = await start({ counts: { tasks: 30 }, awkward: false });
    const [first] = idsOf([await page(simulator, 'tasks?limit=10')]) as [string];
    simulator.admin.beforeAnswer({ resource: 'tasks', page: 1 }, () =>
      simulator.admin.remove('tasks', [first]),
    );
    expect(idsOf(await readAll(simulator, 'tasks?limit=10'))).toContain(first);
    expect(idsOf(await readAll(simulator, 'tasks?limit=10'))).not.toContain(first);
  });

  it('delays the response until its promise resolves, but no other requests', async () => {
    const simulator = await start();
    let go!: () => void;
    let isHeld = false;
    simulator.admin.beforeAnswer({ resource: 'tasks' }, () => {
      isHeld = true;
      return new Promise<void>((resolve) => {
        go = resolve;
      });
    });
    const held = call(simulator, 'tasks');
    await expect.poll(() => isHeld).toBe(true);
    expect((await call(simulator, 'projects')).status).toBe(200);
    expect((await call(simulator, 'tasks')).status).toBe(200);
    expect(simulator.admin.stats().inFlight).toBe(1);
    go();
    expect((await held).status).toBe(200);
  });
});

describe('the Date header', () => {
  it("is the service's time, or absent if so configured", async () => {
    const simulator = await start();
    const date = async () => (await call(simulator, 'tasks')).headers.get('date');
    expect(await date()).toBe(new Date(simulator.admin.now()).toUTCString());
    simulator.admin.configure({ date: 'omit' });
    expect(await date()).toBeNull();
  });
});
