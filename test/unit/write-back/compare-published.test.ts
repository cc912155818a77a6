import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { RunId, UtcSeconds } from '../../../src/core/brands.js';
import { toByteString } from '../../../src/core/brands.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { sortKey } from '../../../src/lake/rows/row.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import {
  type BeforeRow,
  type NowRow,
  type PublishedComparison,
  PublishedRows,
  RowComparer,
} from '../../../src/write-back/compare-published.js';
import { publishedSnapshotOf } from '../../../src/write-back/input-columns.js';
import { isSameState } from '../../../src/write-back/record-state.js';
import { typeBits } from '../../support/column-types.js';
import { type PublishOptions, publishRun } from '../lake/published.js';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const INSIDE = '2026-11-20T08:00:00Z';
const RESOURCE = 'calendar-entries';

type Type = Parameters<typeof typeBits>[0][number];

function columns(types: Readonly<Record<string, readonly Type[]>>) {
  const all = { source: ['string'], sourceKey: ['string'], ...types } as const;
  return Object.entries(all).map(([name, of]) => ({ name, types: typeBits([...of]), values: noFacts() }));
}

const BEFORE_TYPES = {
  startsAt: ['string'],
  title: ['string'],
  minutes: ['integer', 'number'],
  busy: ['boolean'],
  people: ['object', 'array'],
  room: ['string', 'integer'],
  note: ['string', 'null'],
  broken: ['string'],
  'a.b': ['integer'],
} as const;
const BEFORE_ROW = ['cal', '1', INSIDE, 'Plan', '12.50', 'true', '{"a":[1,2]}', '7', null, 'a\ufffd', '1'];
const CLEAR = '{"title":"Plan","minutes":12.50,"busy":true,"people":{"a":[1,2]}}';
const FLAT = { nested: 'flatten' } as const;

/** A lake with published calendar entries, and rows that are compared with it. */
class Lake {
  readonly #folder = mkdtempSync(join(tmpdir(), 'worktrack-compare-'));
  readonly store: ObjectStore;

  constructor() {
    this.store = openStore(this.connection().lake);
  }

  connection(resource = '{ name: calendar-entries, windowField: startsAt }', more = ''): ConnectionSettings {
    const lake = `file://${join(this.#folder, 'lake')}`;
    return parseSettings(
      `connections: { acme: { baseUrl: "http://127.0.0.1:1", apiKey: { env: K }, lake: { url: "${lake}" }, resources: [${resource}], ${more} } }`,
      'test',
    ).connections[0]!;
  }

  async publish(
    types: Readonly<Record<string, readonly Type[]>>,
    rows: readonly (readonly (string | null)[])[],
    more: Partial<PublishOptions> = {},
  ): Promise<void> {
    const key = (row: readonly (string | null)[]) =>
      sortKey(row.slice(0, 2).map((cell) => toByteString(cell!)));
    const sorted = [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    const half = Math.ceil(sorted.length / 2);
    const parts = [sorted.slice(0, half), sorted.slice(half)].filter((part) => part.length > 0);
    await publishRun(this.store, {
      ...{ resource: RESOURCE, runId: '20261128T020000Z-0123abcd' as RunId, date: '2026-11-28' },
      ...{ columns: columns(types), parts, key: ['source', 'sourceKey'], ...more },
    });
  }

  async compare(
    rows: readonly { readonly pair: readonly [string, string] | null; readonly body: object | string }[],
    connection = this.connection(),
  ): Promise<PublishedComparison[]> {
    const published = await publishedSnapshotOf(this.store, RESOURCE);
    const found: PublishedComparison[] = [];
    const { signal } = new AbortController();
    const snapshot = new PublishedRows(this.store, connection, { resource: RESOURCE, published, now: NOW });
    const comparer = new RowComparer(
      snapshot,
      signal,
      (row, rows) => void found.push(snapshot.compare(row, rows)),
    );
    for (const { pair, body } of rows)
      await comparer.add({ pair, body: typeof body === 'string' ? body : JSON.stringify(body) });
    await comparer.finish();
    return found;
  }

  /** The published record of a row: what is kept of it, and what it is now. */
  async states(
    body: object | string,
    connection = this.connection(),
  ): Promise<{ readonly before: BeforeRow; readonly now: NowRow }> {
    const published = await publishedSnapshotOf(this.store, RESOURCE);
    const snapshot = new PublishedRows(this.store, connection, { resource: RESOURCE, published, now: NOW });
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const row = { pair: ['cal', '1'], body: text } as const;
    const found = await snapshot.find([row], new AbortController().signal);
    return { before: snapshot.before(row, found), now: snapshot.now(row, found) };
  }

  remove(): void {
    this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

describe('rows to be written, compared with the published snapshot', () => {
  let lake: Lake;
  beforeEach(() => {
    lake = new Lake();
  });
  afterEach(() => lake.remove());

  const TYPES = {
    title: ['string'],
    startsAt: ['string'],
    minutes: ['integer', 'number'],
    busy: ['boolean'],
    people: ['object', 'array'],
    room: ['string', 'integer'],
  } as const;
  const PUBLISHED = ['cal', '1', 'Plan', INSIDE, '12.50', 'true', '{"a":[1,2]}', '7'];

  const cases: [what: string, body: object | string, verdict: string, changed?: string[]][] = [
    ['equal values', { title: 'Plan', startsAt: INSIDE, minutes: 12.5, busy: true }, 'unchanged'],
    ['the same number in another form', '{"minutes":1.25e1,"startsAt":"2026-11-20T08:00:00Z"}', 'unchanged'],
    ['the same time in another zone', { startsAt: '2026-11-20T09:00:00.000+01:00' }, 'unchanged'],
    ['a nested value', { people: { a: [1, 2] } }, 'unchanged'],
    ['times that the service sets', { title: 'Plan', updatedAt: 'x', createdAt: 'x' }, 'unchanged'],
    ['null for a field without a value', { note: null, title: 'Plan' }, 'unchanged'],
    ['white space at the end', { title: 'Plan ' }, 'changed', ['title']],
    ['another text', { title: 'plan', minutes: 12.5 }, 'changed', ['title']],
    ['another number', { minutes: 12.51 }, 'changed', ['minutes']],
    ['a number as text', { minutes: '12.50' }, 'changed', ['minutes']],
    ['a boolean as text', { busy: 'true' }, 'changed', ['busy']],
    ['another time', { startsAt: '2026-11-20T08:00:00.001Z' }, 'changed', ['startsAt']],
    ['a part of a nested value', { people: { a: [1] } }, 'changed', ['people']],
    ['null for a value', { title: null }, 'changed', ['title']],
    ['the empty text for a value', { title: '' }, 'changed', ['title']],
    ['the empty text for none', { note: '' }, 'changed', ['note']],
    ['a new field', { note: 'x' }, 'changed', ['note']],
  ];
  for (const [what, body, verdict, changed = []] of cases)
    it(`finds ${verdict}: ${what}`, async () => {
      await lake.publish(TYPES, [PUBLISHED, ['cal', '2', ...PUBLISHED.slice(2)]]);
      const [found] = await lake.compare([{ pair: ['cal', '1'], body }]);
      expect(found).toMatchObject({ verdict });
      expect(found!.changes.map(({ field }) => field)).toEqual(changed);
    });

  const unknown: [
    what: string,
    row: (string | null)[] | null,
    body: object,
    why: string | null,
    config?: string,
  ][] = [
    ['a record that is not published', null, { startsAt: INSIDE }, null],
    ['a new record before the window', null, { startsAt: '2026-01-01T00:00:00Z' }, 'before-window'],
    ['a new record without its date', null, { title: 'x' }, 'before-window'],
    [
      'a published date before the window',
      ['cal', '1', 'Plan', '2026-08-01T00:00:00Z'],
      { title: 'Plan' },
      'before-window',
    ],
    [
      'a published date at the edge',
      ['cal', '1', 'Plan', '2026-08-31T00:00:00Z'],
      { title: 'Plan' },
      'before-window',
    ],
    ['a published row without its date', ['cal', '1', 'Plan', null], { title: 'Plan' }, 'before-window'],
    [
      'no configured date, and one date before the window',
      ['cal', '1', 'Plan', INSIDE, '2025-01-01'],
      { title: 'Plan' },
      'before-window',
      '{ name: calendar-entries }',
    ],
    [
      'a resource that is not mirrored',
      ['cal', '1', 'Plan', INSIDE],
      { title: 'Plan' },
      'not-mirrored',
      'tasks',
    ],
    [
      'a masked field',
      ['cal', '1', 'Plan', INSIDE],
      { title: 'Plan' },
      'not-comparable',
      '{ name: calendar-entries, windowField: startsAt, columns: { mask: { title: redact } } }',
    ],
    [
      'a field that is left out',
      ['cal', '1', 'Plan', INSIDE],
      { title: 'Plan' },
      'not-comparable',
      '{ name: calendar-entries, windowField: startsAt, columns: { exclude: [title] } }',
    ],
  ];
  for (const [what, row, body, why, config] of unknown)
    it(`${why === null ? 'is new' : `cannot tell (${why})`}: ${what}`, async () => {
      const rows = [row, ['cal', '9', 'Other', INSIDE]].filter((one) => one !== null);
      const types = { title: ['string'], startsAt: ['string'], endsAt: ['string'] } as const;
      await lake.publish(
        types,
        rows.map((one) => [...one, null].slice(0, 5)),
      );
      const connection = config === undefined ? lake.connection() : lake.connection(config);
      const [found] = await lake.compare([{ pair: ['cal', '1'], body }], connection);
      expect(found).toMatchObject({ verdict: why === null ? 'new' : 'unknown', why });
    });

  it('trusts a row without a configured date if each of its dates is in the window', async () => {
    const types = { title: ['string'], startsAt: ['string'], endsAt: ['string'] } as const;
    await lake.publish(types, [['cal', '1', 'Plan', INSIDE, '2026-12-24']]);
    const row = { pair: ['cal', '1'], body: { title: 'Plan' } } as const;
    expect(await lake.compare([row], lake.connection('calendar-entries'))).toMatchObject([
      { verdict: 'unchanged' },
    ]);
  });

  it.each([
    ['values of all types', '{"title":1,"minutes":1,"busy":1,"people":1}', {}, CLEAR],
    [
      'the other values, of a field that can have several types',
      { room: 1, title: 1 },
      {},
      '{"title":"Plan"}',
    ],
    ['null for an empty cell', { note: 1 }, {}, '{"note":null}'],
    ['no field that is not published', { other: 1, title: 1 }, {}, '{"title":"Plan"}'],
    ['no time of the service', { updatedAt: 1, title: 1 }, {}, '{"title":"Plan"}'],
    ['no text that may have been another one', { broken: 1, title: 1 }, {}, '{"title":"Plan"}'],
    ['no field that is flattened', { a: 1, title: 1 }, { csv: FLAT }, '{"title":"Plan"}'],
    [
      'no masked or excluded field',
      { title: 1, busy: 1, minutes: 1 },
      { selection: { include: null, exclude: ['busy'], mask: { title: 'redact' } } },
      '{"minutes":12.50}',
    ],
  ] as const)('keeps of a record before it is written: %s', async (_, body, more, fields) => {
    await lake.publish(BEFORE_TYPES, [BEFORE_ROW], more);
    expect(await lake.states(body)).toMatchObject({ before: { fields }, now: { fields } });
  });

  const NESTED = { startsAt: ['string'], people: ['object', 'array'] } as const;
  const levels = (count: number, inside: string): string => '['.repeat(count) + inside + ']'.repeat(count);

  it.each([
    ['14 levels', levels(14, '1'), true],
    ['an empty list', '[]', true],
    ['the same member in several objects', '[{"a":1},{"a":{"a":2}}]', true],
    ['an escape', '["\\u00e9\\n\\ud83d\\ude00"]', true],
    ['15 levels', levels(15, '1'), false],
    ['17 levels', levels(17, '1'), false],
    ['a member twice', '{"a":1,"b":{"c":1,"c":2}}', false],
    ['half of a character', '["\\ud83d"]', false],
    ['half of a character in a name', '{"\\ude00":1}', false],
    ['no value', '[1', false],
  ])('keeps a nested value only with all that it says: %s', async (_, cell, isKept) => {
    await lake.publish(NESTED, [['cal', '1', INSIDE, cell]]);
    const { before } = await lake.states({ people: 1 });
    const fields = typeof before === 'string' ? before : before.fields;
    expect(fields === '{}' ? null : JSON.parse(fields)).toEqual(isKept ? { people: JSON.parse(cell) } : null);
    // A value that is not known is not the same one.
    const rows = [{ pair: ['cal', '1'], body: `{"people":${isKept ? cell : '[null]'}}` }] as const;
    expect(await lake.compare(rows)).toMatchObject([{ verdict: isKept ? 'unchanged' : 'changed' }]);
  });

  it.each([
    [levels(17, '1'), levels(17, '2')],
    ['{"a":1,"a":2}', '{"a":3,"a":2}'],
    ['["\\ud83d"]', '["\\ud83e"]'],
  ])('leaves no row out whose nested value may be another one', async (cell, people) => {
    await lake.publish(NESTED, [['cal', '1', INSIDE, cell]]);
    const rows = [{ pair: ['cal', '1'], body: `{"people":${people}}` }] as const;
    expect(await lake.compare(rows)).toMatchObject([{ verdict: 'changed' }]);
  });

  it('sees whether other cells of a record have changed', async () => {
    const config = (more: string) =>
      lake.connection(`{ name: calendar-entries, windowField: startsAt, updatedAt: touched }`, more);
    const ignoring = config('writeBack: { calendar-entries: { ignore: [seen] } }');
    const types = { ...BEFORE_TYPES, seen: ['integer'], touched: ['string'], updatedAt: ['string'] } as const;
    const names = Object.keys(types);
    const states = async (changed: Readonly<Record<string, string | null>>) => {
      const cells = [...BEFORE_ROW, '1', 'x', 'y'].map((cell, at) => {
        const name = names[at - 2] ?? '';
        return name in changed ? changed[name]! : cell;
      });
      await lake.publish(types, [cells], { csv: FLAT });
      const body = { title: 'x', a: 1 };
      const { before } = await lake.states(body, config(''));
      const { now } = await lake.states(body, ignoring);
      if (typeof before === 'string' || typeof now === 'string') throw new Error('no record');
      return { before, now };
    };
    // It was kept before the field was ignored.
    const { before } = await states({});
    const isSeen = async (name: string, cell: string | null): Promise<boolean> =>
      !isSameState(before.others, (await states({ [name]: cell })).now.others);
    for (const own of ['title', 'a.b', 'seen', 'touched', 'updatedAt'])
      expect([own, await isSeen(own, 'z')]).toEqual([own, false]);
    for (const other of ['minutes', 'note', 'room'])
      expect([other, await isSeen(other, '8')]).toEqual([other, true]);
    expect(await isSeen('minutes', null)).toBe(true);
  });

  it('cannot tell for a deleted row, or with another key', async () => {
    const deletedAt = () => '2026-11-21T02:00:00Z' as UtcSeconds;
    await lake.publish({ startsAt: ['string'] }, [['cal', '1', INSIDE]], { deletedAt });
    const row = { pair: ['cal', '1'], body: { startsAt: INSIDE } } as const;
    expect(await lake.compare([row])).toMatchObject([{ verdict: 'unknown', why: 'deleted' }]);
    await lake.publish({ startsAt: ['string'] }, [['cal', '1', INSIDE]], { key: ['source'] });
    expect(await lake.compare([row])).toMatchObject([{ verdict: 'unknown', why: 'key' }]);
  });

  it('keeps masked values masked', async () => {
    const selection = { include: null, exclude: [], mask: { title: 'redact' } } as const;
    const types = { title: ['string'], startsAt: ['string'] } as const;
    await lake.publish(types, [['cal', '1', '[redacted]', INSIDE]], { selection });
    const rows = [
      { pair: ['cal', '1'], body: { title: 'secret', startsAt: '2026-11-21T08:00:00Z' } } as const,
      { pair: ['cal', '2'], body: { title: 'secret', startsAt: INSIDE } } as const,
    ];
    const found = await lake.compare(rows);
    expect(JSON.stringify(found.map(({ changes }) => changes))).not.toContain('secret');
    expect(found).toMatchObject([{ verdict: 'changed' }, { verdict: 'new' }]);
  });

  it('finds each of many rows once, whatever their order, and changes nothing where it says so', async () => {
    const value = fc.oneof(
      fc.constantFrom('a', 'b', '', ' a', 'null', 'true', '1', '1.0', INSIDE, '2026-11-20T09:00:00+01:00'),
      fc.constantFrom(0, 1, 12.5, -3),
      fc.boolean(),
      fc.constant(null),
    );
    const record = fc.record({ a: value, b: value }, { requiredKeys: [] });
    const all = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 60 }), record, record), {
      selector: ([key]) => key,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(all, async (entries) => {
        const published = entries.filter(([key]) => key % 3 !== 0);
        const cell = (found: unknown): string | null => (found == null ? null : String(found));
        const seen = (name: 'a' | 'b') =>
          [...new Set(published.map(([, old]) => typeof old[name]))].flatMap((type): Type[] =>
            type === 'string' || type === 'boolean' ? [type] : type === 'number' ? ['integer', 'number'] : [],
          );
        const types = { startsAt: ['string'], a: seen('a'), b: seen('b') } as const;
        const rows = published.map(([key, old]) => ['cal', `${key}`, INSIDE, cell(old.a), cell(old.b)]);
        await lake.publish(types, rows);
        const sent = entries.map(([key, , row]) => ({
          pair: ['cal', `${key}`] as const,
          body: { startsAt: INSIDE, ...row },
        }));
        const found = await lake.compare(sent);
        expect(found.length).toBe(entries.length);
        for (const [at, [key, old, row]] of entries.entries()) {
          const isOld = key % 3 !== 0;
          const { verdict } = found[at]!;
          // What the service would have after the row, by its own values.
          const merged = { a: old.a ?? null, b: old.b ?? null, ...row };
          const isSame = (['a', 'b'] as const).every((name) => same(old[name] ?? null, merged[name] ?? null));
          if (!isOld) expect(verdict).toBe('new');
          else if (verdict === 'unchanged') expect(isSame).toBe(true);
          else expect(verdict).toBe('changed');
          // Without texts that look like other values, equal rows are found, too.
          const isPlain = [types.a, types.b].every(
            (of) => of.length < 2 || !(of as Type[]).includes('string'),
          );
          if (isOld && isPlain && isSame) expect(verdict).toBe('unchanged');
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** Whether two values of a service are the same. Times are, in any zone. */
function same(a: unknown, b: unknown): boolean {
  const isTime = (value: unknown): value is string => typeof value === 'string' && value.startsWith('2026-');
  return isTime(a) && isTime(b) ? Date.parse(a) === Date.parse(b) : a === b;
}
