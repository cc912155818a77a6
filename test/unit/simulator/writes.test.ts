import { describe, expect, it } from 'vitest';
import { call, NOW, start } from './support.js';

const ENTRY = '{"startedAt":"2026-11-20T09:00:00Z","durationSeconds":900,"rate":12.50}';

const create = (simulator: Parameters<typeof call>[0], body: string, key?: string): Promise<Response> =>
  call(simulator, 'time-entries', {
    method: 'POST',
    body,
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

const count = (texts: readonly string[]): number => texts.length;

describe('time entry creates', () => {
  it('respond with 201 and the record, its id and the literals sent', async () => {
    const simulator = await start();
    const response = await create(simulator, ENTRY);
    const text = await response.text();
    expect(response.status).toBe(201);
    expect(text).toContain('"rate":12.50');
    expect(simulator.admin.records('time-entries')).toContain(text);
  });

  it('create one record for concurrent duplicates of one Idempotency-Key', async () => {
    const simulator = await start();
    const responses = await Promise.all(Array.from({ length: 20 }, () => create(simulator, ENTRY, 'same')));
    const texts = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(texts).size).toBe(1);
    expect(count(simulator.admin.records('time-entries'))).toBe(501);
    await create(simulator, ENTRY, 'other');
    expect(count(simulator.admin.records('time-entries'))).toBe(502);
  });

  it('expire a key after its retention, not earlier', async () => {
    const simulator = await start({ idempotencyRetentionMs: 1000 });
    await create(simulator, ENTRY, 'k');
    simulator.admin.advance(1000);
    await create(simulator, ENTRY, 'k');
    expect(count(simulator.admin.records('time-entries'))).toBe(501);
    simulator.admin.advance(1);
    await create(simulator, ENTRY, 'k');
    expect(count(simulator.admin.records('time-entries'))).toBe(502);
  });

  it('return the original response for a key reused with another body, or 422 if so configured', async () => {
    const simulator = await start({ repeatStatus: 200 });
    const first = await (await create(simulator, ENTRY, 'k')).text();
    const second = await create(simulator, ENTRY.replace('900', '901'), 'k');
    expect([second.status, await second.text()]).toEqual([200, first]);
    simulator.admin.configure({ reusedKey: 'refuse' });
    expect((await create(simulator, ENTRY.replace('900', '901'), 'k')).status).toBe(422);
    expect((await create(simulator, ENTRY, 'k')).status).toBe(200);
  });

  it.each([
    ['{"startedAt":"2026-11-20T09:00:00Z"}', 422],
    ['{"startedAt":"2026-11-20T09:00:00Z","durationSeconds":-1}', 422],
    ['{"startedAt":"2026-11-20T09:00:00Z","durationSeconds":1.5}', 422],
    ['{"startedAt":"yesterday","durationSeconds":1}', 422],
    ['[]', 400],
    ['{', 400],
  ])('reject %s with %i and create nothing', async (body, status) => {
    const simulator = await start();
    const response = await create(simulator, body, 'k');
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ message: expect.any(String) });
    expect(count(simulator.admin.records('time-entries'))).toBe(500);
  });
});

describe('calendar entry upserts', () => {
  it('create, then update in place, by all three styles', async () => {
    const simulator = await start();
    const put = (path: string, method: string, body: object): Promise<Response> =>
      call(simulator, path, { method, body: JSON.stringify(body) });
    const path = `calendar-entries/${encodeURIComponent('my cal')}/${encodeURIComponent('a/b%ключ')}`;
    const first = await put(path, 'PUT', { title: 'one', startsAt: new Date(NOW).toISOString() });
    const made = (await first.json()) as Record<string, unknown>;
    expect(first.status).toBe(201);
    expect(made).toMatchObject({ source: 'my cal', sourceKey: 'a/b%ключ', title: 'one' });
    const pair = { source: 'my cal', sourceKey: 'a/b%ключ' };
    for (const method of ['PUT', 'POST']) {
      const again = await put('calendar-entries', method, { ...pair, title: method });
      expect([again.status, await again.json()]).toMatchObject([200, { id: made.id, title: method }]);
    }
    expect(count(simulator.admin.records('calendar-entries'))).toBe(81);
    expect((await put('calendar-entries', 'POST', { source: 'only' })).status).toBe(422);
    expect((await put(path, 'PUT', { source: 'differs' })).status).toBe(422);
  });

  it('update a seeded entry by its pair', async () => {
    const simulator = await start();
    const seeded = JSON.parse(simulator.admin.records('calendar-entries')[0] as string) as Record<
      string,
      string
    >;
    const body = JSON.stringify({ source: seeded.source, sourceKey: seeded.sourceKey, title: 'new' });
    const response = await call(simulator, 'calendar-entries', { method: 'POST', body });
    expect([response.status, await response.json()]).toMatchObject([200, { id: seeded.id, title: 'new' }]);
  });
});
