import { describe, expect, it, onTestFinished } from 'vitest';
import { readManifest } from '../../../src/lake/documents/manifest.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { envelope, type ListAnswer, type ListPage, ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;
const NOW = Date.parse('2026-11-21T02:00:00Z');

describe('Ten nights of an odd service', () => {
  it.each(['total-ignores-since', 'pages-206', 'pages-206-ignore-since'])(
    'move the checkpoint, and a weekly full read concludes the deletes: %s',
    async (odd) => {
      const mirror = await InProcessMirror.start({
        simulator: { counts: { tasks: 30 }, awkward: false, odd: [odd] },
        ...{ resource: 'tasks', yaml: 'tasks', connection: '    sync: { pageSize: 10 }\n' },
      });
      onTestFinished(() => mirror.close());
      const { admin } = mirror.simulator;
      const ids = admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id);
      const nights: { mode: string; isMoved: boolean; warnings: readonly string[]; deleted: number }[] = [];
      for (let night = 0; night < 10; night++) {
        admin.update('tasks', ids[night]!, { name: `Changed in night ${night}` });
        if (night > 1) admin.remove('tasks', [ids[10 + night]!]);
        const before = mirror.checkpoint;
        const { snapshot, warnings } = await mirror.run();
        const { mode } = (await readManifest(mirror.store, snapshot))!;
        const { rows } = await readSnapshot(mirror.store, 'tasks');
        const deleted = rows.filter((row) => row._deleted_at !== null).length;
        nights.push({ mode, isMoved: mirror.checkpoint !== before, warnings, deleted });
        admin.advance(DAY);
        mirror.clock += DAY;
      }
      expect(nights.map(({ mode, deleted }) => `${mode} ${deleted}`)).toEqual([
        ...['full 0', ...Array.from({ length: 6 }, () => 'increment 0')],
        // Those of the nights 2 to 7.
        ...['full 6', 'increment 6', 'increment 6'],
      ]);
      expect(nights.flatMap(({ warnings }) => warnings)).toEqual([]);
      expect(nights.every(({ isMoved }) => isMoved)).toBe(true);
    },
  );
});

describe('A total', () => {
  const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  async function start(resource: string, windowMs: number | null = null) {
    const service = await ListService.start({
      ...{ now: NOW, windowMs, endpoint: 'none', mayList: true, pageSize: 3 },
      dateText: ({ date }) => String(date),
    });
    onTestFinished(() => service.close());
    const create = (id: string, age = 1000): void => {
      const { now } = service.rules;
      service.records.set(id, { id, date: now - age, updatedAt: now - age, hidden: false });
    };
    // Otherwise, the overlap of increments has them.
    for (const id of IDS) create(id, 3_600_000);
    const total = (of: 'list' | 'everything', hides = '', status = 200) => {
      service.rules.answer = (page: ListPage): ListAnswer => {
        const records = page.records.filter((text) => hides === '' || !text.includes(`"${hides}"`));
        const number = of === 'list' ? page.of : service.records.size;
        const part = records.length === 0 ? '*' : `${page.at}-${page.at + records.length - 1}`;
        return {
          ...(status === 206 ? { status, headers: { 'content-range': `${part}/${number}` } } : {}),
          body: envelope({ ...page, records }, '', `,"total":${number}`),
        };
      };
    };
    const mirror = await mirrorEntries(service.url, resource, {
      now: () => service.rules.now,
      connection: 'sync: { clock: service, pageSize: 3 }',
    });
    const ids = async (): Promise<string[]> => {
      const { rows } = await readSnapshot(mirror.store, 'entries');
      return rows.filter(({ _deleted_at }) => _deleted_at === null).map(({ id }) => id!);
    };
    const later = (days: number): void => {
      service.rules.now += days * DAY;
    };
    return { service, mirror, create, total, ids, later };
  }

  it('holds the checkpoint of changes once a full read has shown that it counts changes', async () => {
    const { mirror, create, total, ids, later } = await start('fetchById: false');
    total('list');
    await mirror.run();
    later(8);
    await mirror.run();
    create('i');
    create('j');
    total('list', 'j');
    later(1);
    const before = mirror.checkpoint;
    const { warnings } = await mirror.run();
    expect(warnings.join()).toContain('has 2 records, but only 1 could be read');
    expect(mirror.checkpoint).toEqual(before);
    total('list');
    later(1);
    expect((await mirror.run()).warnings).toEqual([]);
    expect(await ids()).toEqual([...IDS, 'i', 'j']);
  });

  it('holds the checkpoint no longer than to the second full read after it begins to count everything', async () => {
    const { service, mirror, create, total, ids, later } = await start('fetchById: false');
    total('list');
    await mirror.run();
    later(8);
    await mirror.run();
    total('everything');
    later(1);
    create('i');
    service.records.delete('b');
    const before = mirror.checkpoint;
    await mirror.run();
    expect(mirror.checkpoint).toEqual(before);
    for (let night = 0; night < 7; night++) {
      later(1);
      await mirror.run();
    }
    expect(mirror.checkpoint).not.toEqual(before);
    const live = IDS.filter((id) => id !== 'b');
    expect(await ids()).toEqual([...live, 'i']);
    later(1);
    expect((await mirror.run()).warnings).toEqual([]);
  });

  it('holds no checkpoint of a list with a window if it counts records that have left it', async () => {
    const { mirror, create, total, ids, later } = await start('window: 90d, windowField: day', 90 * DAY);
    total('everything');
    await mirror.run();
    later(88);
    create('i');
    await mirror.run();
    later(8);
    const before = mirror.checkpoint;
    const { warnings, snapshot } = await mirror.run();
    expect(warnings.join()).toContain('has 9 records, but only 1 could be read');
    expect(warnings.join()).not.toContain('the checkpoint stays');
    expect(mirror.checkpoint).not.toEqual(before);
    expect((await readManifest(mirror.store, snapshot))!.fullRead).toMatchObject({ shifted: 0 });
    expect(await ids()).toEqual([...IDS, 'i']);
  });

  it('holds the checkpoint of a list that ends with status 206 before it, with and without a window', async () => {
    for (const [resource, windowMs] of [
      ['', null],
      ['window: 90d, windowField: day', 90 * DAY],
    ] as const) {
      const { mirror, create, total, later } = await start(resource, windowMs);
      // Hides a record in each reading, so no total is ever exact.
      total('everything', 'a', 206);
      await mirror.run();
      create('i');
      later(1);
      const before = mirror.checkpoint;
      const { warnings } = await mirror.run();
      expect(warnings.join(), resource).toContain('status 206');
      expect(mirror.checkpoint, resource).toEqual(before);
    }
  });
});
