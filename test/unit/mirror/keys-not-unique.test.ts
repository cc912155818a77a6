import { afterEach, describe, expect, it, vi } from 'vitest';
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
  afterEach(async () => {
    vi.restoreAllMocks();
    await service.close();
  });

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

  describe('Records of one key in a list with so many slow pages that chunks are merged first', () => {
    const PAGES = 150;
    const TEXT = 'x'.repeat(500);
    /** Two records of each page, and the records of the id `x`, by page. */
    async function startSlow(resource: string, twins: Readonly<Record<number, readonly string[]>>) {
      await start(resource, 1, false);
      let passed = 0;
      const now = Date.now;
      vi.spyOn(Date, 'now').mockImplementation(() => now() + passed);
      for (let at = 12; at < PAGES; at++) {
        const id = `s${String(at).padStart(3, '0')}`;
        service.records.set(id, { id, date: NOW, updatedAt: NOW - 1000, hidden: false });
      }
      service.rules.answer = (page) => {
        if (page.isIncrement) return { body: envelope({ ...page, records: [], next: null }) };
        // One or two pages are a chunk.
        passed += 6000;
        const own = [`a${page.at}`, `z${page.at}`].map(
          (id) => `{"id":"${id}","note":"${page.at}","text":"${TEXT}"}`,
        );
        const more = (twins[page.at] ?? []).map((note) => `{"id":"x","note":"${note}"}`);
        return { body: envelope({ ...page, records: [...own, ...more] }) };
      };
    }

    it.each([
      ['on one page', { 20: ['one', 'two'] }],
      ['on one page, and again later', { 20: ['one', 'two'], 25: ['two'], 95: ['one'] }],
      ['on two pages', { 20: ['one'], 25: ['two'] }],
      ['on every page', Object.fromEntries(Array.from({ length: PAGES }, (_, at) => [at, [`n${at % 7}`]]))],
    ])('stop the run if they are %s', async (_, twins) => {
      await startSlow('badRecords: stop', twins);
      const message = await mirror.run().then(String, errorMessage);
      expect(message).toContain('the key (id) is not unique');
      expect(message).toContain('`key: [note, id]`');
    });

    it('are set aside with `badRecords: quarantine`', async () => {
      await startSlow('badRecords: quarantine', { 20: ['one', 'two'] });
      const { warnings } = await mirror.run();
      expect(warnings.join('\n')).toMatch(/whose key is not unique written to _quarantine/);
      expect((await readSnapshot(mirror.store, 'entries')).rows).toHaveLength(2 * PAGES);
      expect(await quarantined()).toMatch(/x,one[\s\S]*x,two|x,two[\s\S]*x,one/);
    });

    it('are published in the last version if the record changes while the list is read', async () => {
      await startSlow('badRecords: stop', {});
      let reading = 0;
      const answer = service.rules.answer!;
      service.rules.answer = (page) => {
        if (page.at === 0 && !page.isIncrement) reading++;
        const { body } = answer(page);
        const version = `{"id":"hot","note":"${reading}-${page.at}"}`;
        return { body: page.isIncrement ? body : body.replace('"data":[', `"data":[${version},`) };
      };
      await mirror.run();
      const { rows } = await readSnapshot(mirror.store, 'entries');
      expect(rows).toHaveLength(2 * PAGES + 1);
      expect(rows.find(({ id }) => id === 'hot')).toMatchObject({ note: `${reading}-${PAGES - 1}` });
    });
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
