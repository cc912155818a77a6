import { describe, expect, it } from 'vitest';
import { readManifest } from '../../../src/lake/documents/manifest.js';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;

interface Item {
  readonly id: string;
  readonly title: string;
  /** When it changed, by its own account. */
  readonly at: string;
}

/** A mirror of a list that shows `list`, and of it with `updatedSince` what changed since, unless it is in `silent`. */
async function start(resource = 'path: entries', connection = '') {
  const shown = {
    list: ['a', 'b', 'c'].map((id): Item => ({ id, title: id, at: new Date(NOW - DAY).toISOString() })),
    silent: [] as readonly string[],
    now: NOW,
    refuses: null as string | null,
    says: {},
  };
  const service = await AnswerService.start(({ query }) => {
    const since = query.get('updatedSince');
    const headers = { date: new Date(shown.now).toUTCString() };
    if (since !== null && shown.refuses !== null && since < shown.refuses)
      return { status: 400, headers, body: '{"message":"updatedSince is too old"}' };
    const changed = shown.list.filter(
      ({ id, at }) => since === null || (at >= since && !shown.silent.includes(id)),
    );
    const body = { ...(JSON.parse(pageOf(changed)) as object), ...(since === null ? {} : shown.says) };
    return { status: 200, headers, body: JSON.stringify(body) };
  });
  const mirror = await mirrorEntries(service.url, resource, { now: () => shown.now, connection });
  await mirror.run();
  const edit = (id: string, title: string, at = new Date(shown.now - 60_000).toISOString()): void => {
    shown.list = [...shown.list.filter((one) => one.id !== id), { id, title, at }].sort((x, y) =>
      x.id < y.id ? -1 : 1,
    );
  };
  /** A run, a day later. */
  const next = async (request: { full?: boolean; reconcile?: boolean } = {}) => {
    const run = await mirror.run(request);
    const manifest = await readManifest(mirror.store, run.snapshot);
    const { rows } = await readSnapshot(mirror.store, 'entries');
    return {
      ...run,
      titles: rows.map(({ title }) => title),
      fullRead: manifest!.fullRead,
      saved: manifest!.counts,
    };
  };
  const later = (days = 1): void => {
    shown.now += days * DAY;
  };
  return { shown, service, edit, next, later };
}

const OLD = new Date(NOW - 30 * DAY).toISOString();

describe('A full read', () => {
  it.each([{ full: true }, { reconcile: true }, {}])(
    'counts rows that differ although increments show no change of them (%o)',
    async (request) => {
      const { edit, next, later, shown } = await start();
      later(8);
      edit('a', 'renamed', OLD);
      edit('d', 'came back', OLD);
      edit('b', 'edited');
      const { counts, warnings, fullRead, missed, titles } = await next(request);
      expect(titles).toEqual(['renamed', 'edited', 'c', 'came back']);
      expect(counts).toMatchObject({ inserted: 1, updated: 2, missed: 2 });
      expect([missed, fullRead!.missed]).toEqual([2, 2]);
      expect(warnings.filter((one) => one.startsWith('missed: 2 rows of entries differ'))).toHaveLength(1);
      // An increment keeps what the last full read has found.
      shown.now += 60_000;
      const increment = await next();
      expect([increment.missed, increment.counts.missed, increment.warnings]).toEqual([2, 0, []]);
    },
  );

  it('counts nothing that increments show, and nothing that changes while it reads', async () => {
    const { edit, next, later, service } = await start();
    later();
    edit('a', 'edited');
    edit('d', 'new');
    const { answer } = service;
    service.answer = (asked, response) => {
      const page = answer(asked, response);
      // After the first page of this run.
      service.answer = answer;
      edit('b', 'edited meanwhile');
      return page;
    };
    const { counts, missed, warnings } = await next({ full: true });
    expect([counts.missed, missed, warnings]).toEqual([0, 0, []]);
  });

  it('reads the changes since the checkpoint once, and those since its start if the service refuses that time', async () => {
    const { shown, edit, next, later, service } = await start();
    later(8);
    shown.refuses = new Date(shown.now - DAY).toISOString();
    edit('a', 'renamed', OLD);
    service.requests.length = 0;
    const { counts, missed, warnings } = await next({ full: true });
    expect([counts.missed, missed, warnings]).toEqual([0, undefined, []]);
    expect(service.requests.map(({ query }) => query.get('updatedSince'))).toEqual([
      null,
      '2026-11-21T01:55:00Z',
      '2026-11-29T01:55:00Z',
    ]);
  });

  it('compares nothing if a list may lack records, or if the last complete reading did', async () => {
    const { shown, edit, next, later } = await start();
    later();
    shown.says = { incomplete_results: true };
    edit('a', 'renamed', OLD);
    expect((await next({ full: true })).missed).toBeUndefined();
    shown.says = {};
    later();
    edit('a', 'again', OLD);
    // What the incomplete reading lacked is no fault of increments.
    expect((await next({ full: true })).missed).toBeUndefined();
    later();
    edit('a', 'once more', OLD);
    expect((await next({ full: true })).missed).toBe(1);
  });
});

describe('A row whose "updated at" goes back', () => {
  it('stays, and is counted', async () => {
    const { edit, next, later, shown } = await start('path: entries, updatedAt: at');
    later();
    edit('a', 'second');
    await next();
    shown.now += 60_000;
    edit('a', 'first', new Date(NOW + DAY - 120_000).toISOString());
    const { counts, warnings, titles, saved } = await next();
    expect(titles[0]).toBe('second');
    expect([counts.wentBack, saved.wentBack]).toEqual([1, 1]);
    expect(warnings).toEqual([
      expect.stringMatching(/^updatedAt: 1 record came with an earlier "at" than before/),
    ]);
  });
});
