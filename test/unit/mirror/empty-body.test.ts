import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;

describe('A full read whose answer has an empty body', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

  async function start(): Promise<void> {
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'none', mayList: false, noContent: true, pageSize: 1000 },
      dateText: () => 'null',
    });
    for (const id of ['a', 'b', 'c'])
      service.records.set(id, { id, date: NOW, updatedAt: NOW - 9 * DAY, hidden: false });
    mirror = await mirrorEntries(service.url, 'fetchById: false', {
      connection: 'sync: { reconcileEvery: never }',
      now: () => service.rules.now,
      inMemory: false,
    });
  }

  const requests = async (): Promise<string[]> => {
    service.requests = [];
    service.rules.now += DAY;
    await mirror.run();
    return service.requests.map((url) => (url.includes('updatedSince') ? 'changes' : 'all'));
  };

  it('hides no records for longer than a day, because the next runs read everything until one has a body', async () => {
    await start();
    await mirror.run();
    expect(await requests()).toContain('all');
    service.rules.mayList = true;
    expect(await requests()).toContain('all');
    expect((await readSnapshot(mirror.store, 'entries')).rows.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(await requests()).toEqual(['changes']);
    // An increment with an empty body has no changes.
    expect(await requests()).toEqual(['changes']);
  });
});

describe('A full read of a list that has become empty', () => {
  const START = { now: NOW, windowMs: null, endpoint: 'none', mayList: true, pageSize: 1000 } as const;

  async function start(resource: string, rows = 25) {
    const dateText = ({ date }: { readonly date: number }) => JSON.stringify(new Date(date).toISOString());
    const service = await ListService.start({ ...START, dateText });
    onTestFinished(() => service.close());
    for (let n = 0; n < rows; n++)
      service.records.set(`id${n}`, { id: `id${n}`, date: NOW, updatedAt: NOW - 9 * DAY, hidden: false });
    const mirror = await mirrorEntries(service.url, `fetchById: false, ${resource}`, {
      now: () => service.rules.now,
    });
    await mirror.run();
    service.rules.now += DAY;
    service.rules.mayList = false;
    const warnings = async (request: Parameters<typeof mirror.run>[0] = { full: true }) => {
      service.rules.now += 60_000;
      return (await mirror.run(request)).warnings.join('\n');
    };
    return { service, mirror, warnings };
  }

  it.each([[true], [false]])(
    'says so, and leaves the protection of the next run on (in memory: %s)',
    async (inMemory) => {
      const { service, mirror, warnings } = await start('deletes: mark');
      const said = await warnings({ full: true, inMemory });
      expect(said).toContain(
        'the list is empty, but 25 rows of the snapshot should be in it; the rows are kept, and',
      );
      expect(said).toContain('--resource entries --allow-deletes');
      for (const full of [false, true]) {
        service.rules.now += DAY;
        await expect(mirror.run({ full })).rejects.toThrow('the list is empty, but run');
      }
      service.rules.mayList = true;
      expect((await mirror.run()).warnings).toEqual([]);
      expect((await readSnapshot(mirror.store, 'entries')).rows).toHaveLength(25);
    },
  );

  it('says nothing of rows that need not be in it', async () => {
    const windowed = await start('window: 90d, windowField: day');
    windowed.service.rules.now += 100 * DAY;
    expect(await windowed.warnings()).not.toContain('the list is empty');
    const deleted = await start('deletes: mark');
    await deleted.mirror.run({ allowDeletes: true });
    expect(await deleted.warnings()).toBe('');
  });

  it('says so where rows are always kept, and counts as a full read', async () => {
    const { mirror, warnings } = await start('deletes: keep', 3);
    expect(await warnings()).toMatch(/3 rows of the snapshot should be in it; the rows are kept\. Check/);
    expect(await warnings({})).toBe('');
    expect(mirror.published).not.toBeNull();
  });
});
