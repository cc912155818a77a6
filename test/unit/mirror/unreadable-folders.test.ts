import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { withUnreadable } from '../../support/unreadable.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');

let service: ListService;
afterEach(() => service.close());

it('runs, sweeps, rollbacks and purges continue past unreadable folders of other programs', async () => {
  service = await ListService.start({
    ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize: 1000 },
    dateText: () => 'null',
  });
  const add = (id: string): void =>
    void service.records.set(id, { id, date: NOW, updatedAt: service.rules.now, hidden: false });
  for (const id of ['a', 'b', 'c']) add(id);
  const mirror = await mirrorEntries(service.url, '', { now: () => service.rules.now });
  const first = (await mirror.run()).runId as RunId;
  service.rules.now += 60_000;
  const folderOf = async (): Promise<string> =>
    (await readPointer(mirror.store, 'entries')).snapshot.replace(/\/[^/]*$/, '');
  const others = [
    ...['entries/@eaDir', 'entries/snapshots/@eaDir', 'entries/changes/@eaDir', '_staging/entries/@eaDir'],
    ...[`${await folderOf()}/@eaDir`, `_quarantine/entries/@eaDir`],
  ];
  await withUnreadable(fileURLToPath(mirror.store.url), others, async () => {
    await mirror.sweep();
    add('d');
    await mirror.run({ inMemory: false });
    service.rules.now += 60_000;
    await mirror.rollBack(first);
    service.rules.now += 60_000;
    await mirror.purge('b');
    service.rules.now += 60_000;
    await mirror.sweep({ before: mirror.newestId });
  });
  const { rows } = await readSnapshot(mirror.store, 'entries');
  expect(rows.filter(({ _deleted_at }) => _deleted_at === null).map(({ id }) => id)).toEqual(['a', 'c']);
});
