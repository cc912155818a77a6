import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');

describe('A list with records that have lost their keys, and `badRecords: quarantine`', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

  async function start(fetchById: boolean): Promise<void> {
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize: 1000 },
      dateText: () => 'null',
    });
    for (const id of ['a', 'b', 'c', 'd'])
      service.records.set(id, { id, date: NOW, updatedAt: NOW - 86_400_000, hidden: false });
    mirror = await mirrorEntries(service.url, `fetchById: ${fetchById}, badRecords: quarantine`, {
      now: () => service.rules.now,
    });
    await mirror.run();
    service.rules.now += 86_400_000;
    service.records.get('b')!.keyless = true;
    service.records.delete('c');
  }

  const deleted = async (): Promise<string[]> => {
    const { rows } = await readSnapshot(mirror.store, 'entries');
    return rows.filter(({ _deleted_at }) => _deleted_at !== null).map(({ id }) => id!);
  };

  it('marks none of them as deleted, because it is not known which ones they are', async () => {
    await start(false);
    const { warnings } = await mirror.run({ reconcile: true });
    expect(await deleted()).toEqual([]);
    expect(warnings.join()).toContain('no deletes were concluded');
    service.records.get('b')!.keyless = false;
    service.rules.now += 1000;
    await mirror.run({ reconcile: true });
    expect(await deleted()).toEqual(['c']);
  });

  it('concludes deletes if the user says so', async () => {
    await start(false);
    await mirror.run({ allowDeletes: true });
    expect(await deleted()).toEqual(['b', 'c']);
  });

  it('concludes deletes from requests by id', async () => {
    await start(true);
    await mirror.run({ reconcile: true });
    expect(await deleted()).toEqual(['c']);
  });
});
