import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { ConfirmationVerdict } from '../../../src/core/contract/write-back.js';
import type { Column } from '../../../src/lake/rows/data-columns.js';
import { PublishedRows } from '../../../src/write-back/compare-published.js';
import { typeBits } from '../../support/column-types.js';
import { json, service } from '../api/support.js';
import { column } from './staged.js';
import { idOfRow, NOW, type Written, withBatch } from './written-batch.js';

const DAY = 24 * 3_600_000;
/** The window of calendar entries has 90 days. */
const [INSIDE, EDGE, BEFORE] = [8, 89, 120].map((days) => new Date(NOW - days * DAY).toISOString()) as [
  string,
  string,
  string,
];

const ENTRY = [
  column('source', 'text'),
  column('sourceKey', 'text'),
  column('title', 'text'),
  column('startsAt', 'time'),
  column('createdAt', 'time'),
];
const PAIR = ['source', 'sourceKey'];
const WITH_FIELD = '{ name: calendar-entries, windowField: startsAt }';
const NO_FIELD = 'calendar-entries';
const NO_WINDOW = '{ name: calendar-entries, window: none }';
const LESS = '{ name: calendar-entries, columns: { exclude: [note] } }';

describe('a calendar entry that the list may not show', () => {
  /** The cells of title, startsAt and createdAt. */
  type Cells = readonly (string | null)[];
  /** @member open whether another look may find the row */
  const cases: [
    what: string,
    body: object,
    published: Cells | null,
    verdict: ConfirmationVerdict,
    open: boolean,
    config?: string,
  ][] = [
    ['is missing', { startsAt: INSIDE }, null, 'notSeen', true],
    ['is missing, with a date at the edge', { startsAt: EDGE }, null, 'notListed', true],
    ['is missing, with a date before the window', { startsAt: BEFORE }, null, 'notListed', false],
    ['is missing, and its row has no date', { title: 'new' }, null, 'notListed', true],
    ['has other values', { title: 'new', startsAt: INSIDE }, ['old', INSIDE], 'differs', true],
    ['has other values, and its row no date', { title: 'new' }, ['old', INSIDE], 'differs', true],
    ['has left the window, and its row has no date', { title: 'new' }, ['old', BEFORE], 'notListed', false],
    ['has left the window', { title: 'new', startsAt: BEFORE }, ['old', BEFORE], 'notListed', false],
    ['is moved out of the window', { startsAt: BEFORE }, ['old', INSIDE], 'notListed', false],
    ['is moved into the window', { startsAt: INSIDE }, ['old', BEFORE], 'notListed', true],
    ['is at the edge', { title: 'new' }, ['old', EDGE], 'notListed', true],
    ['has no date', { title: 'new' }, ['old', null], 'notListed', true],
    ['has left the window with the same values', { title: 'old' }, ['old', BEFORE], 'confirmed', false],
    // Without `windowField`, each date counts that is not the service's own.
    [
      'is missing, and its row has times of the service',
      { title: 'new', createdAt: INSIDE, updatedAt: INSIDE },
      null,
      'notListed',
      true,
      NO_FIELD,
    ],
    [
      'is missing, and its row has an old time of the service',
      { startsAt: INSIDE, createdAt: BEFORE },
      null,
      'notSeen',
      true,
      NO_FIELD,
    ],
    [
      'was created before the window',
      { title: 'new', startsAt: INSIDE },
      ['old', INSIDE, BEFORE],
      'notListed',
      true,
      NO_FIELD,
    ],
    [
      'may have a date that the lake leaves out',
      { title: 'new' },
      ['old', INSIDE, INSIDE],
      'notListed',
      true,
      LESS,
    ],
    ['is in a list without a window', { title: 'new' }, ['old', BEFORE], 'differs', true, NO_WINDOW],
  ];
  it.each(cases)('%s', async (_, body, published, verdict, open, resource = WITH_FIELD) => {
    const row = { body, pair: ['cal', '1'] } as const;
    const exclude = resource === LESS ? ['note'] : [];
    const more = { key: PAIR, selection: { include: null, exclude, mask: {} } };
    await withBatch(
      [row],
      async (batch) => {
        const cells = published && [['cal', '1', ...published, null].slice(0, ENTRY.length)];
        await batch.publish(ENTRY, cells ?? [], more);
        const look = await batch.look();
        expect((await batch.found()).found.of(1)).toBe(verdict);
        expect(look.open).toBe(open ? 1 : 0);
      },
      { resource },
    );
  });
});

describe('a row whose key the snapshot does not have', () => {
  const body = { title: 'sent', startsAt: INSIDE };
  const ID = [column('id', 'text'), ...ENTRY.slice(2)];
  const byId = '{ name: calendar-entries, windowField: startsAt, key: id }';
  const found = ['id00001', 'sent', INSIDE, INSIDE];
  const other = ['id00001', 'other', INSIDE, INSIDE];
  const entry: Written = { body, pair: ['cal', '1'] };
  const cases: [what: string, Written, Column[], string[], object, ConfirmationVerdict, string?][] = [
    ['is found by its id', entry, ID, found, {}, 'confirmed', byId],
    ['is compared by its id', entry, ID, other, {}, 'differs', byId],
    ['is not seen by its id', { ...entry, id: 'id2' }, ID, other, {}, 'notSeen', byId],
    ['has no id', { ...entry, id: null }, ID, other, {}, 'notListed', byId],
    [
      'has two other fields as its key',
      entry,
      [column('id', 'text'), column('n', 'text'), ...ENTRY.slice(2)],
      ['id00001', '1', 'other', INSIDE, INSIDE],
      { key: ['id', 'n'] },
      'notListed',
    ],
    [
      'has a masked key',
      entry,
      ENTRY,
      ['x', '1', 'other', INSIDE, INSIDE],
      { key: PAIR, selection: { include: null, exclude: [], mask: { source: 'redact' } } },
      'notListed',
    ],
  ];
  it.each(cases)('%s', async (_, row, columns, cells, more, verdict, resource = WITH_FIELD) => {
    await withBatch(
      [row],
      async (batch) => {
        await batch.publish(columns, [cells], more);
        const { open } = await batch.look();
        expect((await batch.found()).found.of(1)).toBe(verdict);
        expect(open).toBe(verdict === 'differs' || verdict === 'notSeen' ? 1 : 0);
      },
      { resource },
    );
  });

  it('is not seen as long as nothing is published', async () => {
    await withBatch([entry], async (batch) => expect(await batch.verdicts()).toEqual(['notSeen']), {
      resource: WITH_FIELD,
    });
  });
});

describe('a member that a record does not have', () => {
  const cases = [
    ['false', { flag: false }, ['boolean'], 'confirmed'],
    ['the empty text', { flag: '' }, ['string'], 'confirmed'],
    ['null', { flag: null }, ['string'], 'confirmed'],
    ['false for a null of the service', { flag: false }, ['boolean', 'null'], 'differs'],
    ['null for a null of the service', { flag: null }, ['boolean', 'null'], 'confirmed'],
  ] as const;
  it.each(cases)('is as in a response: %s', async (_, body, types, verdict) => {
    await withBatch([{ body }], async (batch) => {
      const flag: Column = { ...column('flag', 'text'), types: typeBits([...types]) };
      await batch.publish([column('id', 'text'), flag], [['id00001', null]]);
      expect(await batch.verdicts()).toEqual([verdict]);
    });
  });
});

describe('the service, asked for records by id', () => {
  const COLUMNS = [column('id', 'text'), column('note', 'text'), column('startedAt', 'time')];
  const resource = '{ name: time-entries, fetchById: true, windowField: startedAt }';
  const rows = (count: number): Written[] =>
    Array.from({ length: count }, () => ({ body: { note: 'sent', startedAt: BEFORE } }));
  /** The records that it shows; another answer for the others. */
  const showing = (records: Record<string, object>, status = 404) =>
    service(({ url }, response) => {
      const id = url.slice(url.lastIndexOf('/') + 1);
      const record = records[id];
      json(response, record === undefined ? status : 200, record === undefined ? {} : { id, ...record });
    });

  it('is believed that records are gone only if it shows another one', async () => {
    const records: Record<string, object> = {};
    const { url: baseUrl } = await showing(records);
    await withBatch(
      rows(3),
      async (batch) => {
        await batch.publish(COLUMNS, []);
        expect(await batch.verdicts(3)).toEqual(['notListed', 'notListed', 'notListed']);
        records.id00003 = { note: 'sent', startedAt: BEFORE };
        expect(await batch.verdicts(3)).toEqual(['notSeen', 'notSeen', 'confirmed']);
        // A row that was confirmed earlier is the control.
        expect(await batch.verdicts(3)).toEqual(['notSeen', 'notSeen', 'confirmed']);
        expect((await batch.look()).open).toBe(2);
      },
      { baseUrl, resource },
    );
  });

  it('is not believed about a record that the list shows', async () => {
    const { url: baseUrl } = await showing({ id00002: { note: 'sent', startedAt: INSIDE } });
    await withBatch(
      [1, 2].map(() => ({ body: { note: 'sent', startedAt: INSIDE } })),
      async (batch) => {
        await batch.publish(COLUMNS, [
          ['id00001', 'other', INSIDE],
          ['id00002', 'sent', INSIDE],
        ]);
        // In the second look, the confirmed row is the control.
        for (let look = 1; look <= 2; look++)
          expect(await batch.verdicts(2)).toEqual(['differs', 'confirmed']);
      },
      { baseUrl, resource },
    );
  });

  it('is not asked again in the same look after a failure, and what the list says stands', async () => {
    for (const status of [401, 500]) {
      const { url: baseUrl, seen } = await showing({ id00001: { note: 'other' } }, status);
      await withBatch(
        rows(5),
        async (batch) => {
          await batch.publish(COLUMNS, [['id00005', 'sent', BEFORE]]);
          const expected = ['differs', 'notListed', 'notListed', 'notListed', 'confirmed'];
          expect(await batch.verdicts(5)).toEqual(expected);
          expect([...new Set(seen.map(({ url }) => url.split('/').at(-1)))]).toEqual(['id00001', 'id00002']);
        },
        { baseUrl, resource },
      );
    }
  });

  it('is not compared in fields that the lake masks or leaves out', async () => {
    const { url: baseUrl } = await showing({ id00001: { note: 'other', startedAt: BEFORE, left: 1 } });
    const columns = 'columns: { mask: { note: redact }, exclude: [left] }';
    await withBatch(
      [{ body: { note: 'sent', startedAt: BEFORE, left: 2 } }],
      async (batch) => {
        await batch.publish(COLUMNS, []);
        expect(await batch.verdicts()).toEqual(['confirmed']);
      },
      { baseUrl, resource: resource.replace(' }', `, ${columns} }`) },
    );
  });
});

describe('a large batch', () => {
  it('is looked for in blocks that fit in memory', async () => {
    const find = vi.spyOn(PublishedRows.prototype, 'find');
    const rows = Array.from({ length: 4100 }, (_, n) => ({ body: { n: n + 1 } }));
    await withBatch(rows, async (batch) => {
      const published = rows.map(({ body }, n) => [idOfRow(n + 1), String(body.n)]);
      await batch.publish([column('id', 'text'), column('n', 'integer')], published);
      expect(await batch.look()).toMatchObject({ counts: { confirmed: 4100 }, open: 0 });
    });
    expect(find.mock.calls.map(([block]) => block.length)).toEqual([2000, 2000, 100]);
  });
});

describe('the increments of a batch', () => {
  it('ask from the first plan of its input on', async () => {
    await withBatch([{ body: { n: 1 } }], async (batch) => {
      const plans = join(batch.folder, '_write-back/b/_batch/plans');
      const old = new Date('2026-01-01T00:00:00Z');
      for (const name of readdirSync(plans)) utimesSync(join(plans, name, 'plan.json'), old, old);
      expect((await batch.look()).since).toBe('2025-12-31T23:00:00Z');
      await batch.write([{ body: { n: 2 } }], '_write-back/b/_batch/plans/000002-y-1/plan.json' as ObjectKey);
      expect(Date.parse((await batch.look()).since)).toBeGreaterThan(Date.now() - 2 * 3_600_000);
    });
  });
});
