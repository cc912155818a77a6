import { afterEach, describe, expect, it } from 'vitest';
import { errorMessage } from '../../../src/core/errors.js';
import { findRecord } from '../../../src/lake/published/find-record.js';
import { collected } from '../../../src/lake/store/index.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { envelope, ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');

describe('A list whose key is not unique', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

  /** Entries 1 to 4 of projects A, B and C, in pages of so many records. */
  async function start(resource: string, pageSize: number, inMemory = true): Promise<void> {
    const all = ['A', 'B', 'C'].flatMap((project) =>
      [1, 2, 3, 4].map(
        (id) => `{"id":${id},"projectId":"${project}","hours":${id}.5,"name":"${project}${id}"}`,
      ),
    );
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize: 1000 },
      dateText: () => 'null',
    });
    for (let at = 0; at < all.length; at++) {
      const id = `r${String(at).padStart(2, '0')}`;
      service.records.set(id, { id, date: NOW, updatedAt: NOW - 1000, hidden: false });
    }
    service.rules.pageSize = pageSize;
    service.rules.answer = (page) => ({
      body: envelope({ ...page, records: all.slice(page.at, page.at + page.records.length) }),
    });
    mirror = await mirrorEntries(service.url, resource, { now: () => service.rules.now, inMemory });
  }

  const quarantined = async (): Promise<string> => {
    const found = await collected(mirror.store.list('_quarantine/entries/' as never));
    const bodies = await Promise.all(found.map(({ key }) => mirror.store.read(key)));
    return bodies.map(String).join('');
  };

  it.each([
    ['on one page', 1000, true],
    ['on several pages', 4, true],
    ['on pages of one record', 1, false],
  ])('stops the run, and says which fields would make it unique: %s', async (_, pageSize, inMemory) => {
    await start('badRecords: stop', pageSize, inMemory);
    const message = await mirror.run().then(String, errorMessage);
    expect(message).toContain('the key (id) is not unique');
    expect(message).toContain('`key: [projectId, id]`');
    expect(message).not.toMatch(/A1|B1|C1/);
    expect(await quarantined()).toMatch(/^id,.*projectId.*\n1,/s);
  });

  it('is right with the proposed key', async () => {
    await start('key: [projectId, id]', 4);
    await mirror.run();
    expect((await readSnapshot(mirror.store, 'entries')).rows).toHaveLength(12);
  });

  it.each([1000, 4])(
    'sets such records aside with `badRecords: quarantine`, pages of %d',
    async (pageSize) => {
      await start('badRecords: quarantine', pageSize);
      const { warnings } = await mirror.run();
      expect(warnings.join('\n')).toMatch(/whose key is not unique written to _quarantine/);
      expect((await readSnapshot(mirror.store, 'entries')).rows).toHaveLength(0);
      expect(await quarantined()).toContain('C4');
    },
  );

  it.each([
    ['stop', true],
    ['quarantine', true],
    ['quarantine', false],
  ])('is purged of a record completely, `badRecords: %s`, in memory: %s', async (badRecords, inMemory) => {
    await start(`badRecords: ${badRecords}`, 1000, inMemory);
    const ended = await mirror.run().then(() => 'published', errorMessage);
    expect(ended).toMatch(badRecords === 'stop' ? /is not unique/ : /^published$/);
    const files = await collected(mirror.store.list('_quarantine/entries/'));
    const bodies = await Promise.all(files.map(({ key }) => mirror.store.read(key)));
    const [settings] = mirror.settings.resources;
    const found = await findRecord(mirror.store, 'entries', ['1'], settings!);
    expect(found).toEqual({ snapshots: 0, changeLogs: 0, quarantineFiles: 1 });
    service.rules.now += 60_000;
    await mirror.purge('1');
    expect(await quarantined()).not.toMatch(/[ABC]1/);
    expect(await quarantined()).toMatch(/C2/);
    // A late request restores the file, and the sweep an hour later does not have the key.
    for (const [at, { key }] of files.entries()) await mirror.store.write(key, bodies[at]!);
    await mirror.sweep({ before: mirror.newestId });
    expect(await quarantined()).not.toMatch(/[ABC]1/);
    expect(await quarantined()).toMatch(/C2/);
    expect(await collected(mirror.store.list('_quarantine/'))).toHaveLength(1);
  });

  it('is not one where a record changes while the list is read', async () => {
    await start('badRecords: stop', 4);
    let reading = 0;
    service.rules.answer = (page) => {
      if (page.at === 0) reading++;
      const version = `${reading}-${page.at}`;
      return {
        body: envelope({ ...page, records: [`{"id":"hot","version":"${version}"}`, `{"id":"e${page.at}"}`] }),
      };
    };
    await mirror.run();
    const { rows } = await readSnapshot(mirror.store, 'entries');
    expect(rows.map(({ id }) => id)).toEqual(['e0', 'e4', 'e8', 'hot']);
  });
});
