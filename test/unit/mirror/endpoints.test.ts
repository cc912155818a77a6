import { afterEach, describe, expect, it, vi } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { type Endpoint, ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const MINUTE = 60_000;
const DAY = 86_400_000;

describe('An endpoint by id that answers oddly', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(async () => {
    vi.restoreAllMocks();
    await service.close();
  });

  const mirrorOf = (url: string, more: string, elapsed: number): Promise<ActivityMirror> =>
    mirrorEntries(url, `fetchById: true${more}`, {
      connection: 'retries: { giveUpAfter: 6h }',
      now: () => service.rules.now,
      elapsed,
      inMemory: false,
    });

  async function reconciled(endpoint: Endpoint, elapsed: number) {
    // Without the waits between the attempts of a request.
    vi.spyOn(Math, 'random').mockReturnValue(0);
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint, mayList: true, pageSize: 1000 },
      dateText: () => 'null',
    });
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      service.records.set(id, { id, date: NOW, updatedAt: NOW, hidden: false });
    mirror = await mirrorOf(service.url, '', elapsed);
    expect((await mirror.run()).warnings).toEqual([]);
    service.rules.now += 86_400_000;
    service.records.delete('c');
    const { warnings } = await mirror.run({ reconcile: true });
    const { rows } = await readSnapshot(mirror.store, 'entries');
    return { warnings, marked: rows.filter((row) => row._deleted_at !== null).map((row) => row.id) };
  }

  it.each([
    { endpoint: 'forbidden-page', elapsed: 0 },
    { endpoint: 'forbidden-words', elapsed: 15 * MINUTE },
    { endpoint: 'start-page', elapsed: 0 },
  ] as const)(
    'does not hold up the run if the API key may not use it ($endpoint)',
    async ({ endpoint, elapsed }) => {
      expect(await reconciled(endpoint, elapsed)).toEqual({
        warnings: [expect.stringContaining('deletes were concluded from a second reading instead')],
        marked: ['c'],
      });
    },
  );

  it('does not fail the run if it redirects to another host for a record that it does not have', async () => {
    const { warnings, marked } = await reconciled('redirect-missing', 0);
    expect(warnings).toEqual([expect.stringContaining('deletes: 1 record no longer listed')]);
    expect(warnings.join()).not.toContain('secret');
    expect(marked).toEqual([]);
  });

  it.each([
    // The ids, whether a proxy answers for those with a slash, and what is marked.
    [['a', 'b/1', 'c', 'd'], true, ['c'], 1],
    [['a/1', 'b/1', 'c/1', 'd/1'], false, ['b/1', 'c/1'], 0],
    [['a%', 'b/1', 'c%', 'd%'], true, ['c%'], 1],
    [['a%/', 'b/1', 'c%', 'd%'], false, ['b/1', 'c%'], 0],
  ] as const)(
    'proves a delete only if it finds a listed record with the same signs in its id: %j, with a proxy: %s',
    async (ids, refusesSlashes, deleted, unproven) => {
      service = await ListService.start({
        ...{ now: NOW, windowMs: 90 * DAY, endpoint: 'exact', mayList: true, pageSize: 1000 },
        dateText: ({ date }) => JSON.stringify(new Date(date).toISOString()),
        ...(refusesSlashes ? { refuses: /%2F/i } : {}),
      });
      for (const id of ids)
        service.records.set(id, { id, date: NOW - 9 * DAY, updatedAt: NOW, hidden: false });
      mirror = await mirrorOf(service.url, ', window: 90d, windowField: day', 0);
      await mirror.run();
      service.rules.now += DAY;
      // It is moved out of the window, or deleted.
      if (refusesSlashes) service.records.get('b/1')!.date = NOW - 200 * DAY;
      else service.records.delete('b/1');
      service.records.delete(ids[2]);
      const { warnings } = await mirror.run({ reconcile: true });
      const { rows } = await readSnapshot(mirror.store, 'entries');
      expect(rows.filter((row) => row._deleted_at !== null).map((row) => row.id)).toEqual(deleted);
      if (unproven === 0) expect(warnings.join()).not.toContain('no longer listed');
      else expect(warnings.join()).toContain(`${unproven} record no longer listed`);
    },
  );

  it.each(['b.json', 'b c', 'b/c', 'b%', 'b:c', 'bé'])(
    'proves a delete of a record with the id %j only together with absence from a second pass',
    async (odd) => {
      service = await ListService.start({
        ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize: 1000 },
        dateText: () => 'null',
        refuses: new RegExp(encodeURIComponent(odd)),
      });
      for (const id of ['a', odd, 'c', 'd'])
        service.records.set(id, { id, date: NOW, updatedAt: NOW, hidden: false });
      mirror = await mirrorOf(service.url, '', 0);
      await mirror.run();
      const marked = async (): Promise<(string | null)[]> => {
        service.rules.now += DAY;
        await mirror.run({ reconcile: true });
        const { rows } = await readSnapshot(mirror.store, 'entries');
        return rows.filter((row) => row._deleted_at !== null).map((row) => row.id!);
      };
      service.rules.missesOnce = odd;
      service.records.delete('c');
      expect(await marked()).toEqual(['c']);
      service.records.delete(odd);
      expect(await marked()).toEqual([odd, 'c'].sort());
    },
  );

  it.each([1, 2])(
    'proves nothing if it does not find a listed record any more (after %i requests)',
    async (byIdUntil) => {
      service = await ListService.start({
        ...{ now: NOW, windowMs: 90 * DAY, endpoint: 'exact', mayList: true, pageSize: 1000 },
        dateText: ({ date }) => JSON.stringify(new Date(date).toISOString()),
      });
      for (const id of ['a', 'b', 'c', 'd'])
        service.records.set(id, { id, date: NOW - 9 * DAY, updatedAt: NOW, hidden: false });
      mirror = await mirrorOf(service.url, ', window: 90d, windowField: day', 0);
      await mirror.run();
      service.rules.now += DAY;
      // Both are moved out of the window.
      for (const id of ['b', 'c']) service.records.get(id)!.date = NOW - 200 * DAY;
      service.rules.byIdUntil = byIdUntil;
      const { warnings } = await mirror.run({ reconcile: true });
      expect(warnings.slice(-1)).toEqual([expect.stringMatching(/^deletes: [12] records? no longer listed/)]);
      const { rows } = await readSnapshot(mirror.store, 'entries');
      expect(rows.filter((row) => row._deleted_at !== null)).toEqual([]);
    },
  );

  it('is asked again for a while if its words may mean a limit', async () => {
    await expect(reconciled('forbidden-words', 14 * MINUTE)).rejects.toThrow('calls per day');
  });
});
