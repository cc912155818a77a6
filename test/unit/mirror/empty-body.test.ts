import { afterEach, describe, expect, it } from 'vitest';
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
