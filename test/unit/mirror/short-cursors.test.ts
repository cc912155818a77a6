import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { showsSame } from '../../../src/run/read/continue-by-time.js';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const MINUTE = 60_000;

interface Item {
  readonly id: string;
  readonly title: string;
  readonly at?: string;
}

const item = (n: number, at = NOW - 1_000_000 * MINUTE + 10 * n * MINUTE): Item => ({
  id: `r${String(n).padStart(4, '0')}`,
  title: `Title ${n}`,
  at: new Date(at).toISOString(),
});

const list = (records: number): Item[] => Array.from({ length: records }, (_, n) => item(n));

interface Options {
  /** Requests after the first page until its cursors end. */
  readonly lives?: number;
  readonly pageMax?: number;
  readonly resource?: string;
  /** Whether the list is in the order of changes. */
  readonly order?: boolean;
  /** Whether `updatedSince` leaves out records without a time. The list has them first, or with `timeless` last. */
  readonly timeless?: 'first' | 'left out' | 'shown';
  /** Whether pages have the total of the list, or of the changes. `everything`: of all records in either. */
  readonly total?: boolean | 'everything';
  /** Records that the list shows before it answers 400. */
  readonly cap?: number;
  readonly sync?: string;
}

/** A service whose cursors are accepted for so many requests after the first page. */
async function start(
  items: readonly Item[],
  {
    lives = 3,
    pageMax = 20,
    resource = 'updatedAt: at',
    order = true,
    timeless = 'first',
    total = false,
    cap = Number.POSITIVE_INFINITY,
    sync = '',
  }: Options = {},
) {
  const world = {
    items,
    lives,
    now: NOW,
    onPage: (_: number): void => {},
    form: (one: Item): Item => one,
  };
  const none = timeless === 'first' ? '0' : '9';
  const placeOf = ({ at = none, id }: Item): string => (order ? at : `${10_000 - Number(id.slice(1))}`) + id;
  const service = await AnswerService.start(({ query, number }) => {
    world.onPage(number);
    const headers = { date: new Date(world.now).toUTCString() };
    const since = query.get('updatedSince');
    const size = Math.min(pageMax, Number(query.get('limit')));
    const [born = `${number}`, after = ''] = query.get('cursor')?.split('/') ?? [];
    if (number - Number(born) > world.lives)
      return {
        ...{ status: 400, headers },
        body: '{"error":"CursorExpiredError","message":"The cursor has expired."}',
      };
    const missing = timeless === 'shown' ? '9' : '';
    const all = world.items.filter(({ at = missing }) => since === null || at >= since);
    const left = all.filter((one) => placeOf(one) > after).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    const shown = left.slice(0, size);
    if (all.length - left.length + shown.length > cap)
      return { status: 400, headers, body: '{"message":"Result window is too large"}' };
    const next = left.length > size ? `${born}/${placeOf(shown.at(-1)!)}` : null;
    const page = {
      ...JSON.parse(pageOf(shown.map(world.form), next)),
      ...(total === false ? {} : { total: total === true ? all.length : world.items.length }),
    };
    return { status: 200, headers, body: JSON.stringify(page) };
  });
  const mirror = await mirrorEntries(service.url, resource, {
    now: () => world.now,
    connection: `sync: { pageSize: 10, overlap: 5m${sync} }`,
  });
  return { world, service, mirror };
}

const titles = async (mirror: Awaited<ReturnType<typeof start>>['mirror']) =>
  (await readSnapshot(mirror.store, 'entries')).rows.map(({ id, title, _deleted_at }) => [
    id,
    title,
    _deleted_at,
  ]);

describe('A list whose cursors end before it does', () => {
  it('is read with larger pages, and then in parts by the time of change', async () => {
    const items = list(250);
    const { mirror, service, world } = await start(items);
    const { warnings, counts } = await mirror.run();
    expect(await titles(mirror)).toEqual(items.map(({ id, title }) => [id, title, null]));
    expect(warnings).toEqual([
      'list: the cursors of entries end before the list does, so it was read in 4 parts, by "at"; no deletes were concluded, and it is not known whether records moved between its pages',
    ]);
    expect(counts).toMatchObject({ inserted: 250 });
    // Without the parts, it took 15 requests until the failure.
    expect(service.requests.length).toBeLessThanOrEqual(30);
    const parts = service.requests.filter(({ query }) => query.has('updatedSince') && !query.has('cursor'));
    expect(parts).toHaveLength(4);
    // A record that is no longer listed is no proof. The run counts as a full read.
    world.items = items.slice(1);
    world.now += 8 * 86_400_000;
    const second = await mirror.run();
    expect(second.counts.deleted).toBe(0);
    expect((await readSnapshot(mirror.store, 'entries')).rows).toHaveLength(250);
    world.now += MINUTE;
    const third = await mirror.run();
    expect(third.warnings).toEqual([]);
  });

  it('keeps what changes while it is read', async () => {
    const items = list(250);
    const { mirror, world } = await start(items);
    world.onPage = (number) => {
      if (number % 4 !== 0) return;
      const at = (7 * number) % 250;
      world.items = world.items.map((one, n) =>
        n === at ? { ...one, title: `edit ${number}`, at: new Date(NOW + number * 1000).toISOString() } : one,
      );
    };
    await mirror.run();
    world.onPage = () => {};
    world.now += 86_400_000;
    await mirror.run();
    expect(await titles(mirror)).toEqual(world.items.map(({ id, title }) => [id, title, null]));
  });

  it.each([
    ['no field is configured', { resource: 'path: entries' }, list(250), 'name its field in `updatedAt`'],
    [
      'the list is in another order',
      { order: false },
      list(250).reverse(),
      'It is not shown that the list is in the order of "at"',
    ],
    [
      'a record has no time',
      {},
      list(250).map((one, n) => (n === 3 ? { id: 'r0003', title: 'x' } : one)),
      'It is not shown',
    ],
    [
      'many records have the same time',
      {},
      Array.from({ length: 250 }, (_, n) => item(n, n < 9 ? NOW - MINUTE : NOW)),
      'It is not shown',
    ],
  ])('ends the run if %s', async (_, options, items, message) => {
    const { mirror } = await start(items, options);
    await expect(mirror.run()).rejects.toThrow(message);
  });

  it('is incomplete if a later part is not in that order', async () => {
    const items = list(130);
    const { mirror, world } = await start(items);
    // A record of the last part shows another time than the one that decides its place.
    world.form = (one) => (one.id === 'r0125' ? { ...one, at: '2020-01-01T00:00:00Z' } : one);
    const { warnings } = await mirror.run();
    expect(warnings.join()).toContain('not all of it was in that order');
  });
});

describe('A list that is read in parts, with records without a time at its end', () => {
  const items = list(130).map(({ id, title, at }, n) => (n < 127 ? { id, title, at: at! } : { id, title }));
  const MISSING =
    /was read in \d parts, by "at"; the service says that entries has 130 records, but only 127 could be read: records without "at" are in no part.*`sync\.total: ignore`/;

  it('is incomplete if its total shows that they are in no part, and the next run reads everything', async () => {
    const { mirror, world } = await start(items, { timeless: 'left out', total: true });
    expect((await mirror.run()).warnings).toEqual([expect.stringMatching(MISSING)]);
    const before = mirror.checkpoint;
    world.now += 86_400_000;
    const second = await mirror.run();
    expect(second.warnings).toEqual([expect.stringMatching(MISSING)]);
    expect(second.warnings.join()).toContain('the checkpoint stays where it was');
    expect(mirror.checkpoint).toEqual(before);
  });

  it('is not if the total counts something else', async () => {
    const { mirror } = await start(items, { timeless: 'left out', total: true, sync: ', total: ignore' });
    expect((await mirror.run()).warnings).toEqual([
      expect.stringContaining('no deletes were concluded, and'),
    ]);
  });

  it('is not if it is a list of changes, and the total that of all records', async () => {
    const { mirror, world } = await start(list(60), { lives: 1000, total: 'everything' });
    expect((await mirror.run()).warnings).toEqual([]);
    const before = mirror.checkpoint;
    world.now += 86_400_000;
    const changed = (n: number): Item => ({ ...item(n, world.now - (100 - n) * MINUTE), title: 'Changed' });
    world.items = world.items.map((one, n) => (n < 50 ? changed(n) : one));
    world.lives = 1;
    expect((await mirror.run()).warnings).toEqual([
      expect.stringMatching(/was read in \d parts, by "at"; no/),
    ]);
    expect(mirror.checkpoint).not.toEqual(before);
    expect((await titles(mirror)).filter(([, title]) => title === 'Changed')).toHaveLength(50);
  });

  it('is not if a part shows all records', async () => {
    const { mirror } = await start(list(130), { total: true });
    expect((await mirror.run()).warnings).toEqual([
      expect.stringContaining('no deletes were concluded, and'),
    ]);
  });

  it('is incomplete if a part shows them', async () => {
    const { mirror } = await start(items, { timeless: 'shown' });
    expect((await mirror.run()).warnings).toEqual([
      expect.stringContaining('not all of it was in that order'),
    ]);
    expect(await titles(mirror)).toEqual(items.map(({ id, title }) => [id, title, null]));
  });
});

describe('A list that the service cuts with an error', () => {
  it('is named with both numbers if it has a total', async () => {
    const { mirror } = await start(list(250), {
      lives: 1000,
      cap: 100,
      total: true,
      resource: 'path: entries',
    });
    await expect(mirror.run()).rejects.toThrow(
      /the service says that entries has 250 records, but only 100 could be read\. It seems to show no more of a list.*Result window is too large/,
    );
  });

  it('is said to have cursors that end if it has none, or one that counts something else', async () => {
    const cut = { lives: 1000, cap: 100, resource: 'path: entries' };
    for (const options of [cut, { ...cut, total: true, sync: ', total: ignore' }]) {
      const { mirror } = await start(list(250), options);
      await expect(mirror.run()).rejects.toThrow(
        /records\. Its cursors seem to live shorter than the list takes/,
      );
    }
  });

  it('is read in parts if it is in the order of changes', async () => {
    const { mirror } = await start(list(250), { lives: 1000, cap: 100, total: true });
    expect((await mirror.run()).warnings).toEqual([expect.stringContaining('so it was read in 3 parts')]);
    expect(await titles(mirror)).toHaveLength(250);
  });
});

describe('A page that is requested again', () => {
  const keys = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 2, maxLength: 30 });
  it('shows the same with more before it, and with an end within it', () => {
    fc.assert(
      fc.property(keys, fc.nat(40), fc.nat(5), (all, cut, before) => {
        const page = all.slice(Math.min(before, all.length - 1));
        const again = all.slice(0, Math.max(Math.min(before, all.length - 1) + 1, all.length - cut));
        expect(showsSame(page as never, again as never)).toBe(true);
      }),
    );
  });
  it('does not if it shows others, or another order', () => {
    const same = (a: string, b: string) => showsSame([...a] as never, [...b] as never);
    expect([
      same('abcd', 'wxyz'),
      same('abcd', 'dcba'),
      same('abcd', 'a'),
      same('abcdefgh', 'ah'),
      same('ab', ''),
    ]).toEqual([false, false, true, false, false]);
  });
});
