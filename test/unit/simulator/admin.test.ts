import { describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { holdAnswer } from '../../support/hold.js';
import { call, NOW, page, start } from './support.js';

describe('the control of a simulator in the same process', () => {
  it('adds faults, shows their hits and removes them', async () => {
    const simulator = await start();
    const { faults } = simulator.admin;
    const id = faults.add({ match: { resource: 'tasks' }, fault: { kind: 'status', status: 503 } });
    expect((await call(simulator, 'tasks')).status).toBe(503);
    expect(faults.list()).toMatchObject([{ id, hits: 1 }]);
    expect(faults.remove(id)).toBe(true);
    expect((await call(simulator, 'tasks')).status).toBe(200);
  });

  it('counts requests by route, concurrency and keys, and never keeps the Authorization header', async () => {
    const simulator = await start();
    simulator.admin.faults.add({ fault: { kind: 'latency', ms: 1 }, match: { resource: 'tasks' } });
    const held = holdAnswer(simulator, { resource: 'tasks' }, 3);
    const calls = [1, 2, 3].map(() => call(simulator, 'tasks?limit=1'));
    await expect.poll(held.isThere).toBe(true);
    held.release();
    await Promise.all(calls);
    const headers = { 'idempotency-key': 'k-1' };
    await call(simulator, 'time-entries', { method: 'POST', body: '{}', headers });
    const stats = simulator.admin.stats();
    expect(stats.byRoute).toEqual({ 'GET tasks': 3, 'POST time-entries': 1 });
    expect(stats.maxConcurrent).toBe(3);
    expect(stats.inFlight).toBe(0);
    expect(stats.recent.at(-1)).toMatchObject({ status: 422, idempotencyKey: 'k-1', method: 'POST' });
    expect(stats.recent[0]).toMatchObject({
      page: 0,
      path: '/api/public/v2/tasks?limit=1',
      fault: 'latency',
    });
    expect(JSON.stringify(stats)).not.toContain(DEMO_KEY);
    simulator.admin.resetStats();
    expect(simulator.admin.stats().requests).toBe(0);
  });

  it('limits the list of recent requests', async () => {
    const simulator = await start({ recentRequests: 3 });
    for (let i = 1; i <= 10; i++) await call(simulator, `tags?limit=${i}`);
    const { requests, recent } = simulator.admin.stats();
    expect(requests).toBe(10);
    expect(recent.map((one) => one.path.split('=')[1])).toEqual(['8', '9', '10']);
  });

  it('creates, updates, touches, extends and deletes records with their literals', async () => {
    const { admin } = await start();
    const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
    admin.create('tasks', `{"id":"${id}","n":9007199254740993}`);
    admin.update('tasks', id, '{"m":12.50}');
    admin.addField('tasks', 'new', '1e21', { ids: [id] });
    const text = admin.records('tasks').find((record) => record.includes(id));
    expect(text).toMatch(/"n":9007199254740993.*"m":12.50,"new":1e21/);
    admin.advance(1000);
    expect(admin.touch('tasks', { count: 4, pick: 'newest' })).toHaveLength(4);
    admin.remove('tasks', [id]);
    expect(admin.records('tasks').join('\n')).not.toContain(id);
    expect(admin.records('tasks', 'ever').join('\n')).toContain(id);
    expect(() => admin.remove('tasks', [id])).toThrow(id);
  });

  it('moves the clock, changes options, keys and plans', async () => {
    const simulator = await start();
    const { admin } = simulator;
    admin.advance(5);
    expect(admin.now()).toBe(NOW + 5);
    admin.configure({ pageMax: 5 });
    expect((await page(simulator, 'tasks?limit=100')).page.limit).toBe(5);
    const unknown = { pageMaximum: 5 } as object;
    expect(() => admin.configure(unknown)).toThrow('pageMaximum');
    admin.keys.add({ key: 'k2', name: 'two', organization: 'globex', grants: ['tasks:read'] });
    const status = async () =>
      (await call(simulator, 'tasks', { headers: { authorization: 'Bearer k2' } })).status;
    expect(await status()).toBe(200);
    admin.keys.setPlan('globex', 'none');
    expect(await status()).toBe(402);
  });
});
