import { describe, expect, it } from 'vitest';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;

type Item = Readonly<Record<string, unknown>>;

const item = (id: string, more: Item = {}): Item => ({
  id,
  title: `Title ${id}`,
  hours: 1.5,
  note: 'n',
  ...more,
});
const FIRST = [item('a'), item('b'), item('c')];

/** A mirror of a list that shows `list`, and `changes` with `updatedSince`. */
async function start(resource: string) {
  const shown = {
    list: FIRST as readonly Item[],
    changes: [] as readonly Item[],
    /** Of records that are not in the list. */
    byId: [] as readonly Item[],
    /** What GET by id makes of a record. */
    form: (one: Item): Item => one,
    now: NOW,
  };
  const service = await AnswerService.start(({ id, query }) => {
    if (id === null) return pageOf(query.has('updatedSince') ? shown.changes : shown.list);
    const found = [...shown.list, ...shown.byId].find((one) => one.id === id);
    return found === undefined ? { status: 404 } : JSON.stringify(shown.form(found));
  });
  const mirror = await mirrorEntries(service.url, resource, { now: () => shown.now });
  await mirror.run();
  /** Shows something else, a day later, and runs. */
  const next = async (shows: Partial<typeof shown>, request = {}) => {
    Object.assign(shown, { now: shown.now + DAY, ...shows });
    const run = await mirror.run(request);
    const { rows } = await readSnapshot(mirror.store, 'entries');
    return { ...run, rows, live: rows.filter((row) => row._deleted_at === null).map((row) => row.id) };
  };
  return { shown, mirror, next };
}

describe('A record that says that it is deleted', () => {
  it.each([
    ['deleted: { field: deleted }', { deleted: true }],
    ['deleted: { field: deletedAt }', { deletedAt: '2026-11-21T10:00:00Z' }],
    ['deleted: { field: status, values: [deleted, trashed] }', { status: 'trashed' }],
  ])('is a tombstone in any run, and keeps the values that it does not have (%s)', async (rule, mark) => {
    const { next } = await start(rule);
    const deleted = await next({ changes: [{ id: 'b', note: null, ...mark }] });
    expect(deleted.live).toEqual(['a', 'c']);
    expect(deleted.rows[1]).toMatchObject({ id: 'b', title: 'Title b', hours: '1.5', note: null });
    expect(deleted.counts).toMatchObject({ deleted: 1, updated: 0, fetched: 1 });
    const again = await next({ changes: [{ id: 'b', note: null, ...mark }] });
    expect(again.counts).toMatchObject({ deleted: 0, unchanged: 1 });
    expect(again.rows[1]!._deleted_at).toBe(deleted.rows[1]!._deleted_at);
  });

  it('adds no row of an unknown key, and is counted', async () => {
    const { next } = await start('deleted: { field: deleted }');
    const { rows, counts } = await next({ changes: [{ id: 'x', deleted: true }] });
    expect(rows).toHaveLength(3);
    expect(counts).toMatchObject({ fetched: 1, inserted: 0, deleted: 0, tombstones: 1 });
  });

  it('leaves the rows with `deletes: drop`, and changes nothing with `deletes: keep`', async () => {
    const dropping = await start('deleted: { field: deleted }, deletes: drop');
    expect((await dropping.next({ changes: [{ id: 'b', deleted: true }] })).rows.map(({ id }) => id)).toEqual(
      ['a', 'c'],
    );
    const keeping = await start('deleted: { field: deleted }, deletes: keep');
    const { rows, live } = await keeping.next({ changes: [{ id: 'b', title: 'x', deleted: true }] });
    expect(live).toEqual(['a', 'b', 'c']);
    expect(rows[1]).toMatchObject({ title: 'Title b' });
  });

  it('is no newer version of a row that brings it back, and only a later live version does', async () => {
    const { next } = await start('deleted: { field: deleted }, updatedAt: at');
    const gone = { id: 'b', deleted: true, at: '2026-11-22T00:00:00Z' };
    await next({ changes: [gone] });
    // A lagging replica.
    expect((await next({ changes: [item('b', { at: '2026-11-21T00:00:00Z' })] })).live).toEqual(['a', 'c']);
    expect((await next({ changes: [gone] }, {})).live).toEqual(['a', 'c']);
    expect((await next({ changes: [item('b', { at: '2026-11-24T00:00:00Z' })] })).live).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('counts by the order of reading within a run', async () => {
    const { next } = await start('deleted: { field: deleted }');
    const gone = { id: 'b', deleted: true };
    expect((await next({ changes: [item('b', { title: 'new' }), gone] })).rows[1]).toMatchObject({
      title: 'new',
    });
    expect((await next({ changes: [gone, item('b')] })).live).toEqual(['a', 'b', 'c']);
  });

  it('is held if it deletes more than a run may', async () => {
    const many = Array.from({ length: 60 }, (_, at) => item(`r${at}`));
    const { next } = await start('deleted: { field: deleted }');
    await next({ list: many }, { full: true });
    const changes = many.slice(0, 30).map(({ id }) => ({ id, deleted: true }));
    await expect(next({ changes })).rejects.toThrow(/30 of 63 rows, more than 10%.*--allow-deletes/);
    expect((await next({ changes }, { allowDeletes: true })).live).toHaveLength(30);
  });
});

describe('A record with only its key and a mark of deletion, without the setting', () => {
  it.each([
    [{ deleted: true }, '`deleted: { field: deleted }`'],
    [{ object: 'task', is_deleted: 1 }, '`deleted: { field: is_deleted }`'],
    [{ removedAt: '2026-11-20T00:00:00Z', updatedAt: 'x' }, '`deleted: { field: removedAt }`'],
    [{ status: 'deleted' }, '`deleted: { field: status, values: [deleted] }`'],
  ])('empties no row, and a warning names the setting (%j)', async (mark, setting) => {
    const { next } = await start('fetchById: false');
    const { rows, warnings } = await next({ changes: [{ id: 'b', ...mark }] });
    expect(rows[1]).toMatchObject({ id: 'b', title: 'Title b', hours: '1.5' });
    expect(warnings.join()).toContain(setting);
    // It is not in the list any more, so a reconcile finds that it is deleted.
    const { live } = await next({ list: [FIRST[0]!, FIRST[2]!] }, { reconcile: true });
    expect(live).toEqual(['a', 'c']);
  });

  it('is a record like any other if records are small, or if it has more than that', async () => {
    const { next } = await start('fetchById: false');
    const { counts } = await next({ changes: [{ id: 'b', title: 't', hours: 2, note: 'm', deleted: true }] });
    expect(counts).toMatchObject({ updated: 1 });
  });
});

describe('A record that is not listed any more, but exists by id', () => {
  const [a, b, c] = FIRST as [Item, Item, Item];
  const archived = { ...b, title: 'Archived', hours: null, note: 'new' };
  const request = { reconcile: true };

  it.each([
    ['as it is', (one: Item) => one],
    ['wrapped', (one: Item) => ({ data: one })],
  ])('becomes the version of its row (%s)', async (_, form) => {
    const { next } = await start('fetchById: true');
    const { rows, counts, warnings } = await next({ list: [a, c], byId: [archived], form }, request);
    expect(rows[1]).toMatchObject({ title: 'Archived', hours: null, note: 'new', _deleted_at: null });
    expect({ counts, warnings }).toMatchObject({ counts: { updated: 1, deleted: 0 }, warnings: [] });
    const again = await next({}, request);
    expect(again.counts).toMatchObject({ unchanged: 3, updated: 0, inserted: 0 });
  });

  it.each([
    ['more fields', (one: Item) => ({ ...one, details: 'x' })],
    ['fewer fields', ({ note: _, ...one }: Item) => one],
    ['other values', (one: Item) => ({ ...one, hours: '1.50' })],
  ])('is only counted if GET by id shows %s than the list', async (_, form) => {
    const { next } = await start('fetchById: true');
    const { rows, warnings } = await next({ list: [a, c], byId: [archived], form }, request);
    expect(rows[1]).toMatchObject({ title: 'Title b', hours: '1.5', note: 'n', _deleted_at: null });
    expect(warnings.join()).toContain('1 row is no longer listed but exists');
    expect(warnings.join()).toContain('GET entries/<id> shows other fields or values of a listed record');
  });

  it('is only counted if the list is empty, so that no record can be compared', async () => {
    const { next } = await start('fetchById: true');
    const { warnings } = await next({ list: [], byId: [a, b, c] }, request);
    expect(warnings.join()).toContain('3 rows are no longer listed but exist');
    expect(warnings.join()).toContain('no listed record could be compared with GET entries/<id>');
    expect(warnings.join()).not.toContain('shows other fields');
  });

  it.each([
    ['all of it', { ...archived, deletedAt: '2026-11-21T10:00:00Z' }, { title: 'Archived', note: 'new' }],
    ['its key', { id: 'b', deletedAt: '2026-11-21T10:00:00Z' }, { title: 'Title b', note: 'n' }],
  ])('is deleted if it says so and shows %s', async (_, record, values) => {
    const { next } = await start('fetchById: true, deleted: { field: deletedAt }');
    const { rows, counts, live } = await next({ list: [a, c], byId: [record] }, request);
    expect({ live, counts }).toMatchObject({ live: ['a', 'c'], counts: { deleted: 1, tombstones: 1 } });
    expect(rows[1]).toMatchObject(values);
  });

  it('is deleted with the values of its row if other fields by id show less than the list', async () => {
    const form = ({ note: _, ...one }: Item) => one;
    const { next } = await start('fetchById: true, deleted: { field: deletedAt }');
    const gone = { ...archived, deletedAt: '2026-11-21T10:00:00Z' };
    const { rows, live } = await next({ list: [a, c], byId: [gone], form }, request);
    expect(live).toEqual(['a', 'c']);
    expect(rows[1]).toMatchObject({ title: 'Title b', note: 'n' });
  });

  it('proves nothing if it has only its key and a mark without the setting for it', async () => {
    const { next } = await start('fetchById: true');
    const { live, warnings } = await next({ list: [a, c], byId: [{ id: 'b', deleted: true }] }, request);
    expect(live).toEqual(['a', 'b', 'c']);
    expect(warnings.join('\n')).toMatch(
      /neither that it exists[\s\S]*set `deleted: \{ field: deleted \}`|set `deleted: \{ field: deleted \}`[\s\S]*neither that it exists/,
    );
  });

  it('proves nothing, and changes nothing, if it says that it is deleted and no setting names the field', async () => {
    const { next } = await start('fetchById: true');
    const gone = { ...archived, deletedAt: '2026-11-21T10:00:00Z' };
    const { rows, live, warnings } = await next({ list: [a, c], byId: [gone] }, request);
    expect(live).toEqual(['a', 'b', 'c']);
    expect(rows[1]).toMatchObject({ title: 'Title b', note: 'n' });
    expect(warnings.join('\n')).toMatch(/neither that it exists[\s\S]*set `deleted: \{ field: deletedAt \}`/);
  });

  it('is masked as in the list', async () => {
    const { next } = await start('fetchById: true, columns: { mask: { title: redact }, exclude: [note] }');
    const { rows } = await next({ list: [a, c], byId: [archived] }, request);
    expect(rows[1]).toMatchObject({ title: '[redacted]', hours: null });
    expect(Object.keys(rows[1]!)).not.toContain('note');
  });
});
