import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/simulator/index.js';
import { call, idsOf, NOW, page, readAll, start } from './support.js';

const once = (fault: Fault) => ({ fault, remaining: 1 });

describe('faults', () => {
  it('send a status with Retry-After in each form, once', async () => {
    const simulator = await start();
    const forms = [7, 'soon', { inMs: 60_000 }, undefined];
    for (const retryAfter of forms) {
      simulator.admin.faults.add(
        once({ kind: 'status', status: 429, ...(retryAfter === undefined ? {} : { retryAfter }) }),
      );
    }
    const responses = [];
    for (let i = 0; i < 5; i++) responses.push(await call(simulator, 'tasks'));
    expect(responses.map((one) => one.status)).toEqual([429, 429, 429, 429, 200]);
    const date = new Date(NOW + 60_000).toUTCString();
    expect(responses.map((one) => one.headers.get('retry-after'))).toEqual(['7', 'soon', date, null, null]);
  });

  it('reset the connection before and in the middle of a response', async () => {
    const simulator = await start();
    simulator.admin.faults.add(once({ kind: 'reset' }));
    await expect(call(simulator, 'tasks')).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    simulator.admin.faults.add(once({ kind: 'reset-mid-body' }));
    const response = await call(simulator, 'tasks');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('damage a body that arrives complete, so that it is not a valid envelope', async () => {
    const simulator = await start();
    const plain = { headers: { 'accept-encoding': 'identity' } };
    simulator.admin.faults.add(once({ kind: 'truncated-json' }));
    const cut = await call(simulator, 'tasks', plain);
    const text = await cut.text();
    expect(Number(cut.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    simulator.admin.faults.add(once({ kind: 'html' }));
    expect(await (await call(simulator, 'tasks')).text()).toContain('<html>');
    simulator.admin.faults.add(once({ kind: 'wrong-envelope' }));
    expect(await (await call(simulator, 'tasks')).json()).toEqual({ items: [] });
    simulator.admin.faults.add(once({ kind: 'bad-gzip' }));
    await expect((await call(simulator, 'tasks')).text()).rejects.toMatchObject({
      cause: { code: 'Z_DATA_ERROR' },
    });
  });

  it('hang until the client gives up, and send a complete body slowly', async () => {
    const simulator = await start();
    const hanging = simulator.admin.faults.add(once({ kind: 'hang' }));
    const giveUp = new AbortController();
    const hung = call(simulator, 'tasks', { signal: giveUp.signal });
    await expect.poll(() => simulator.admin.faults.hits(hanging)).toBe(1);
    giveUp.abort();
    await expect(hung).rejects.toMatchObject({ name: 'AbortError' });
    simulator.admin.faults.add(once({ kind: 'drip', bytes: 4096, everyMs: 1 }));
    expect((await page(simulator, 'tasks')).data).toHaveLength(60);
  });

  it('delay by a latency together with another fault', async () => {
    const simulator = await start();
    simulator.admin.faults.add({ fault: { kind: 'latency', ms: 30 } });
    simulator.admin.faults.add(once({ kind: 'status', status: 503 }));
    const from = performance.now();
    expect((await call(simulator, 'tasks')).status).toBe(503);
    expect(performance.now() - from).toBeGreaterThanOrEqual(28);
  });

  it('redirect elsewhere', async () => {
    const simulator = await start();
    simulator.admin.faults.add(once({ kind: 'redirect', location: 'http://127.0.0.1:1/x' }));
    const response = await call(simulator, 'tasks', { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([307, 'http://127.0.0.1:1/x']);
  });

  it('expire the cursors of one chain, but not of a chain that starts later', async () => {
    const simulator = await start();
    const first = (await page(simulator, 'tasks?limit=20')).page.nextCursor;
    simulator.admin.faults.add({ fault: { kind: 'cursor-expired' } });
    expect((await call(simulator, `tasks?limit=20&cursor=${first}`)).status).toBe(400);
    expect((await call(simulator, `tasks?limit=20&cursor=${first}`)).status).toBe(400);
    expect(idsOf(await readAll(simulator, 'tasks?limit=20'))).toHaveLength(60);
  });

  it.each([
    [1, [0, 0, 0]],
    [2, [0, 1, 0]],
  ] as const)('repeat cursors in a cycle of %i', async (length, circle) => {
    const simulator = await start();
    simulator.admin.faults.add({ fault: { kind: 'cursor-loop', length }, match: { page: length } });
    const cursors: (string | null)[] = [];
    let path = 'tasks?limit=10';
    for (let i = 0; i < 3; i++) {
      cursors.push((await page(simulator, path)).page.nextCursor);
      path = `tasks?limit=10&cursor=${cursors.at(-1)}`;
    }
    expect(cursors.map((cursor) => cursors.indexOf(cursor))).toEqual(circle);
  });

  it('insert an empty page without losing records', async () => {
    const simulator = await start();
    simulator.admin.faults.add({ fault: { kind: 'empty-page' }, match: { page: 1 } });
    const pages = await readAll(simulator, 'tasks?limit=20');
    expect(pages.map((one) => one.data.length)).toEqual([20, 0, 20, 20]);
    expect(new Set(idsOf(pages)).size).toBe(60);
  });

  it('lose the response after a create was carried out', async () => {
    const simulator = await start();
    simulator.admin.faults.add({ fault: { kind: 'lose-response' }, remaining: 1, match: { method: 'POST' } });
    const init = {
      method: 'POST',
      body: '{"startedAt":"2026-11-20T09:00:00Z","durationSeconds":1}',
      headers: { 'idempotency-key': 'k' },
    };
    await expect(call(simulator, 'time-entries', init)).rejects.toMatchObject({
      cause: { code: 'ECONNRESET' },
    });
    expect(simulator.admin.records('time-entries')).toHaveLength(501);
    expect((await call(simulator, 'time-entries', init)).status).toBe(201);
    expect(simulator.admin.records('time-entries')).toHaveLength(501);
  });

  it('match by resource, path, nth and every, and draw from the seed by probability', async () => {
    const simulator = await start({ seed: 3 });
    const { faults } = simulator.admin;
    const fault = { kind: 'status', status: 500 } as const;
    const statuses = async (path: string, n: number): Promise<number[]> => {
      const found: number[] = [];
      for (let i = 0; i < n; i++) found.push((await call(simulator, path)).status);
      return found;
    };
    faults.add({ fault, match: { resource: 'tasks', nth: 2 } });
    expect(await statuses('projects', 2)).toEqual([200, 200]);
    expect(await statuses('tasks', 3)).toEqual([200, 500, 200]);
    faults.clear();
    faults.add({ fault, match: { path: 'limit=3', every: 2 } });
    expect(await statuses('tasks?limit=3', 4)).toEqual([200, 500, 200, 500]);
    faults.clear();
    faults.add({ fault, probability: 0.3 });
    const failed = (await statuses('tags', 200)).filter((status) => status === 500).length;
    expect(failed).toBeGreaterThan(35);
    expect(failed).toBeLessThan(85);
  });
});
