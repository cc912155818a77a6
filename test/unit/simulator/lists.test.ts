import { describe, expect, it } from 'vitest';
import { call, DAY, idsOf, iso, NOW, page, readAll, start } from './support.js';

const ids = (texts: readonly string[]): string[] =>
  texts.map((text) => (JSON.parse(text) as { id: string }).id);

describe('lists', () => {
  it.each(['id', 'updatedAt', 'random'] as const)(
    'return every record exactly once in order %s',
    async (order) => {
      const simulator = await start({ order });
      const seen = idsOf(await readAll(simulator, 'time-entries?limit=37'));
      expect(seen).toHaveLength(500);
      expect([...seen].sort()).toEqual(ids(simulator.admin.records('time-entries')));
      expect(seen.every((id) => id.length === 26)).toBe(true);
    },
  );

  it('clamp the limit to the maximum and to one, and echo what was applied', async () => {
    const simulator = await start({ pageMax: 50, pageDefault: 20 });
    const limits = ['tasks', 'tasks?limit=5000', 'tasks?limit=0', 'tasks?limit=7'];
    const pages = await Promise.all(limits.map((path) => page(simulator, path)));
    expect(pages.map((one) => one.page.limit)).toEqual([20, 50, 1, 7]);
    expect(pages.map((one) => one.data.length)).toEqual([20, 50, 1, 7]);
  });

  it('reject a limit that is too large if so configured, and always one that is not an integer', async () => {
    const simulator = await start({ tooLargeLimit: 'refuse' });
    expect((await call(simulator, 'tasks?limit=1001')).status).toBe(400);
    expect((await call(simulator, 'tasks?limit=1000')).status).toBe(200);
    expect((await call(simulator, 'tasks?limit=ten')).status).toBe(400);
  });

  it('do not let the client read or forge a cursor', async () => {
    const simulator = await start();
    const { page: first, data } = await page(simulator, 'tasks?limit=2');
    const cursor = first.nextCursor as string;
    const plain = Buffer.from(cursor, 'base64url').toString('latin1');
    expect(plain).not.toContain(String(data[1]?.id));
    const forged = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`;
    expect((await call(simulator, `tasks?cursor=${forged}`)).status).toBe(400);
    expect((await call(simulator, `projects?cursor=${cursor}`)).status).toBe(400);
  });

  it('include records changed at updatedSince itself, unless the bound is exclusive', async () => {
    const simulator = await start();
    const touched = simulator.admin.touch('tasks', { count: 3, pick: 'spread' });
    const path = `tasks?limit=2&updatedSince=${iso(NOW)}`;
    expect(idsOf(await readAll(simulator, path))).toEqual(touched);
    simulator.admin.configure({ updatedSinceBound: 'exclusive' });
    expect(idsOf(await readAll(simulator, path))).toEqual([]);
  });

  it.each(['2026-11-21', '2026-11-21T00:00:00', '2026-11-21T00:00:00.000Z', '2026-02-30T00:00:00Z', 'x'])(
    'refuse updatedSince=%s',
    async (since) => {
      const simulator = await start();
      const response = await call(simulator, `tasks?updatedSince=${since}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ message: expect.stringContaining('updatedSince') });
    },
  );

  it('show only the last 90 days of time entries, for any updatedSince', async () => {
    const simulator = await start();
    const { admin } = simulator;
    const old = admin.create('time-entries', { startedAt: new Date(NOW - 91 * DAY).toISOString() });
    expect(idsOf(await readAll(simulator, `time-entries?updatedSince=${iso(NOW)}`))).not.toContain(old);
    admin.move('time-entries', [old], NOW - 89 * DAY);
    expect(idsOf(await readAll(simulator, `time-entries?updatedSince=${iso(NOW)}`))).toEqual([old]);
    admin.advance(200 * DAY);
    expect(idsOf(await readAll(simulator, 'time-entries'))).toEqual([]);
    expect(admin.records('time-entries')).toHaveLength(501);
    expect(idsOf(await readAll(simulator, 'tasks'))).toHaveLength(60);
  });

  it('move a record that changes between pages to the end in order updatedAt', async () => {
    const simulator = await start({ order: 'updatedAt' });
    const first = idsOf([await page(simulator, 'tasks?limit=20')]);
    const pages = await readAll(simulator, 'tasks?limit=20', (n) => {
      if (n === 1) simulator.admin.touch('tasks', { ids: [first[0] as string] });
    });
    const seen = idsOf(pages);
    expect(seen.filter((id) => id === first[0])).toHaveLength(2);
    expect(seen.at(-1)).toBe(first[0]);
  });

  it('begin with the record that changed last in order -updatedAt', async () => {
    const simulator = await start({ order: '-updatedAt' });
    const [, , third] = ids(simulator.admin.records('tasks'));
    simulator.admin.touch('tasks', { ids: [third as string] });
    const rows = (await readAll(simulator, 'tasks?limit=20')).flatMap(({ data }) => data);
    expect(rows[0]!.id).toBe(third);
    const times = rows.map((row) => String(row.updatedAt));
    expect(times).toEqual([...times].sort().reverse());
  });

  it('skip a record with offset cursors when an earlier one is deleted, and not with keyset cursors', async () => {
    const missing = async (cursorStyle: 'offset' | 'keyset'): Promise<number> => {
      const simulator = await start({ cursorStyle });
      const [first] = ids(simulator.admin.records('tasks'));
      const pages = await readAll(simulator, 'tasks?limit=20', (n) => {
        if (n === 1) simulator.admin.remove('tasks', [first as string]);
      });
      const seen = new Set(idsOf(pages));
      return ids(simulator.admin.records('tasks')).filter((id) => !seen.has(id)).length;
    };
    expect(await missing('offset')).toBe(1);
    expect(await missing('keyset')).toBe(0);
  });

  it('show a change only after the visibility lag, whereas GET by id shows it immediately', async () => {
    const simulator = await start({ visibilityLagMs: 5000 });
    const { admin } = simulator;
    const id = admin.create('projects', { name: 'new' });
    const [known] = ids(admin.records('projects'));
    admin.update('projects', known as string, { name: 'changed' });
    const before = (await page(simulator, 'projects')).data;
    expect(before.map((row) => row.id)).not.toContain(id);
    expect(before.find((row) => row.id === known)?.name).not.toBe('changed');
    expect(await (await call(simulator, `projects/${known}`)).json()).toMatchObject({ name: 'changed' });
    admin.advance(5000);
    const after = (await page(simulator, `projects?updatedSince=${iso(NOW)}`)).data;
    expect(after.map((row) => row.id).sort()).toEqual([id, known].sort());
  });

  it('carry the date of the service clock', async () => {
    const simulator = await start();
    simulator.admin.setNow(Date.UTC(2030, 0, 1));
    expect((await call(simulator, 'tasks')).headers.get('date')).toBe('Tue, 01 Jan 2030 00:00:00 GMT');
  });

  it('are compressed for clients that accept it when they are large', async () => {
    const simulator = await start();
    const encoded = async (path: string, accept: string): Promise<string | null> =>
      (await call(simulator, path, { headers: { 'accept-encoding': accept } })).headers.get(
        'content-encoding',
      );
    expect(await encoded('time-entries', 'gzip')).toBe('gzip');
    expect(await encoded('time-entries', 'identity')).toBeNull();
    expect(await encoded('members?limit=1', 'gzip')).toBeNull();
    expect((await page(simulator, 'time-entries')).data).toHaveLength(100);
  });
});
