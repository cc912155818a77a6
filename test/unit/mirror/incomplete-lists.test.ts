import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { envelope, type ListAnswer, type ListPage, ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const HOUR = 3_600_000;
const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** How a service says that its list lacks records, by what the warning quotes. */
const SIGNS: Record<string, (page: ListPage) => ListAnswer> = {
  '"incomplete_results": true': (page) => ({ body: envelope(page, ',"incomplete_results":true') }),
  '"isPartial": true': (page) => ({ body: envelope(page, '', ',"isPartial":true') }),
  '"_shards": { "failed": 1 }': (page) => ({ body: envelope(page, ',"_shards":{"total":5,"failed":1}') }),
  'Only the first 5 results': (page) => ({
    body: envelope(page, ',"warnings":["Only the first 5 results"]'),
  }),
  'status 206': (page) => ({ status: 206, body: envelope(page) }),
  'x-partial-results: true': (page) => ({ headers: { 'x-partial-results': 'true' }, body: envelope(page) }),
};

describe('A list that says that it is incomplete', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

  async function start(resource: string, pageSize = 3): Promise<void> {
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize },
      dateText: () => 'null',
    });
    for (const id of IDS) create(id);
    mirror = await mirrorEntries(service.url, resource, {
      now: () => service.rules.now,
      connection: 'sync: { clock: service, pageSize: 3 }',
    });
  }

  function create(id: string): void {
    const { now } = service.rules;
    service.records.set(id, { id, date: now, updatedAt: now - 1000, hidden: false });
  }

  /** The list lacks records as long as it says so. */
  function fail(answer: (page: ListPage) => ListAnswer, hidden: readonly string[]): void {
    service.rules.answer = answer;
    for (const record of service.records.values()) record.hidden = hidden.includes(record.id);
  }

  function recover(): void {
    delete service.rules.answer;
    for (const record of service.records.values()) record.hidden = false;
  }

  const rows = async (which: 'live' | 'deleted'): Promise<string[]> => {
    const found = (await readSnapshot(mirror.store, 'entries')).rows;
    return found.filter((row) => (row._deleted_at === null) === (which === 'live')).map(({ id }) => id!);
  };

  it.each(Object.entries(SIGNS))('concludes no delete, and quotes %s', async (words, answer) => {
    await start('fetchById: false');
    await mirror.run();
    service.rules.now += HOUR;
    fail(answer, ['b', 'c']);
    create('i');
    service.records.delete('d');
    const before = mirror.checkpoint;
    const incomplete = await mirror.run({ reconcile: true });
    expect(incomplete.warnings.join('\n')).toContain(words);
    expect(await rows('deleted')).toEqual([]);
    expect(await rows('live')).toEqual([...IDS, 'i']);
    expect(mirror.checkpoint).toEqual(before);
    recover();
    service.rules.now += 21 * HOUR;
    const complete = await mirror.run();
    expect(complete.warnings).toEqual([]);
    expect(await rows('deleted')).toEqual(['d']);
    expect(mirror.checkpoint).not.toEqual(before);
  });

  it('concludes no delete by id either', async () => {
    await start('fetchById: true');
    await mirror.run();
    service.rules.now += HOUR;
    fail(SIGNS['"isPartial": true']!, ['b']);
    service.records.delete('c');
    await mirror.run({ reconcile: true, allowDeletes: true });
    expect(await rows('deleted')).toEqual([]);
  });

  it('passes over no change of an incomplete increment', async () => {
    await start('fetchById: false');
    await mirror.run();
    service.rules.now += HOUR;
    create('i');
    create('j');
    fail(SIGNS['"isPartial": true']!, ['j']);
    await mirror.run();
    expect(await rows('live')).toEqual([...IDS, 'i']);
    recover();
    service.rules.now += HOUR;
    const { warnings } = await mirror.run();
    expect(warnings).toEqual([]);
    expect(await rows('live')).toEqual([...IDS, 'i', 'j']);
  });

  it('sets the checkpoint of a first export, and the next run reads everything', async () => {
    await start('fetchById: false');
    fail(SIGNS['status 206']!, ['b']);
    const first = await mirror.run();
    expect(first.warnings.join('\n')).toContain('the next run reads everything');
    expect(mirror.checkpoint).not.toBeNull();
    recover();
    service.rules.now += HOUR;
    await mirror.run();
    expect(await rows('live')).toEqual(IDS);
  });

  it.each([
    ['a deprecated parameter', ',"warnings":["Parameter `partial` is deprecated"]'],
    ['success', ',"message":"OK","incomplete_results":false,"_shards":{"failed":0}'],
  ])('is not one with a message about %s', async (_, more) => {
    await start('fetchById: false');
    await mirror.run();
    service.rules.now += HOUR;
    service.rules.answer = (page) => ({ body: envelope(page, more) });
    service.records.delete('d');
    const { warnings } = await mirror.run({ reconcile: true });
    expect(warnings).toEqual([]);
    expect(await rows('deleted')).toEqual(['d']);
  });
});
