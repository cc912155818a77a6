import { describe, expect, it } from 'vitest';
import { DEMO_KEY, type Simulator } from '../../../src/simulator/index.js';
import { holdAnswer } from '../../support/hold.js';
import { call, NOW, page, start } from './support.js';

async function control(simulator: Simulator, method: string, path: string, body?: string): Promise<unknown> {
  const response = await fetch(`${simulator.url}/__control/${path}`, {
    method,
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return response.headers.get('content-type')?.includes('ndjson') === true
    ? text
    : (JSON.parse(text) as unknown);
}

describe('control by HTTP', () => {
  it('adds faults, shows their hits and removes them', async () => {
    const simulator = await start();
    const rule = '{"match":{"resource":"tasks"},"fault":{"kind":"status","status":503}}';
    const { ids } = (await control(simulator, 'POST', 'faults', rule)) as { ids: string[] };
    expect((await call(simulator, 'tasks')).status).toBe(503);
    expect(await control(simulator, 'GET', 'faults')).toMatchObject([{ id: ids[0], hits: 1 }]);
    await control(simulator, 'DELETE', `faults/${ids[0]}`);
    expect((await call(simulator, 'tasks')).status).toBe(200);
    await expect(control(simulator, 'POST', 'faults', '{}')).rejects.toThrow('fault rule');
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
    const stats = (await control(simulator, 'GET', 'stats')) as ReturnType<Simulator['admin']['stats']>;
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
    await control(simulator, 'DELETE', 'stats');
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
    const simulator = await start();
    const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
    const body = `{"create":[{"id":"${id}","n":9007199254740993}],"update":{"${id}":{"m":12.50}},"addField":{"ids":["${id}"],"name":"new","value":1e21}}`;
    await control(simulator, 'POST', 'records/tasks', body);
    const stored = (await control(simulator, 'GET', 'records/tasks')) as string;
    const text = stored.split('\n').find((line) => line.includes(id));
    expect(text).toMatch(/"n":9007199254740993.*"m":12.50,"new":1e21/);
    simulator.admin.advance(1000);
    const touched = await control(
      simulator,
      'POST',
      'records/tasks',
      '{"touch":{"count":4,"pick":"newest"}}',
    );
    expect((touched as { touch: string[] }).touch).toHaveLength(4);
    await control(simulator, 'POST', 'records/tasks', `{"delete":["${id}"]}`);
    expect(await control(simulator, 'GET', 'records/tasks')).not.toContain(id);
    expect(await control(simulator, 'GET', 'records/tasks?scope=ever')).toContain(id);
    await expect(control(simulator, 'POST', 'records/tasks', `{"delete":["${id}"]}`)).rejects.toThrow(id);
  });

  it('moves the clock, changes options, keys and plans', async () => {
    const simulator = await start();
    expect(await control(simulator, 'POST', 'clock', '{"advance":5}')).toEqual({ now: NOW + 5 });
    await control(simulator, 'POST', 'options', '{"pageMax":5}');
    expect((await page(simulator, 'tasks?limit=100')).page.limit).toBe(5);
    await expect(control(simulator, 'POST', 'options', '{"pageMaximum":5}')).rejects.toThrow('pageMaximum');
    const key = '{"key":"k2","name":"two","organization":"globex","grants":["tasks:read"]}';
    await control(simulator, 'POST', 'keys', key);
    const status = async () =>
      (await call(simulator, 'tasks', { headers: { authorization: 'Bearer k2' } })).status;
    expect(await status()).toBe(200);
    await control(simulator, 'POST', 'plans', '{"organization":"globex","plan":"none"}');
    expect(await status()).toBe(402);
  });
});
