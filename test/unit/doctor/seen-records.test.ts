import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { tryService } from '../../../src/doctor/index.js';
import { SeenRecords } from '../../../src/doctor/try-service/seen-records.js';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';

type Row = Readonly<Record<string, string>>;

const at = (minute: number): string => `2026-11-21T10:${String(minute).padStart(2, '0')}:00Z`;

/** Versions of records in turn, by key and title. */
function seen(...rows: readonly (readonly [key: string, row: Row])[]): SeenRecords {
  const all = new SeenRecords();
  for (const [key, row] of rows) all.see(key, new Map(Object.entries(row)));
  return all;
}

describe('The field with the time of a change', () => {
  const before = ['a', 'b', 'c'].map((key) => [key, { title: 'x', updatedAt: at(1) }] as const);
  const changed = (key: string, row: Row): readonly [string, Row] => [key, { title: 'y', ...row }];
  const moved = ['a', 'b', 'c'].map((key) => changed(key, { updatedAt: at(2) }));
  it.each([
    ['has moved with each of three changes', 'updatedAt', [...before, ...moved, ...moved]],
    ['is not known after two changes', null, [...before, ...moved.slice(1)]],
    ['has not moved with one of them', null, [...before, ...moved, ['a', { title: 'z', updatedAt: at(2) }]]],
    ['has gone back once', null, [...before, ...moved, ['b', { title: 'x', updatedAt: at(1) }]]],
    ['is absent from a record', null, [...before, ...moved, ['d', { title: 'x' }]]],
    [
      'is no time',
      null,
      [...before, ...moved].map(([key, row]) => [
        key,
        { ...row, updatedAt: row.updatedAt === at(1) ? '1' : '2' },
      ]),
    ],
  ] as const)('%s', (_, field, rows) => {
    expect(seen(...(rows as [string, Row][])).updatedAt(null)).toBe(field);
  });

  it('has another name only if it fits `updatedSince`', () => {
    const rows = [1, 2].flatMap((minute) =>
      ['a', 'b', 'c'].map((key) => [key, { seq: at(minute) }] as const),
    );
    expect(seen(...rows).updatedAt(null)).toBeNull();
    expect(seen(...rows).updatedAt('seq')).toBe('seq');
  });
});

describe('The field that marks deleted records', () => {
  const now = Date.parse(at(30));
  it.each<readonly [string, object | null, readonly Row[]]>([
    ['is set on some records', { field: 'deletedAt', values: null }, [{ deletedAt: at(1) }, {}, {}]],
    [
      'is false on most',
      { field: 'isDeleted', values: null },
      [{ isDeleted: 'true' }, { isDeleted: 'false' }, {}],
    ],
    [
      'is a state',
      { field: 'status', values: ['deleted', 'trashed'] },
      [{ status: 'trashed' }, { status: 'deleted' }, { status: 'open' }, { status: 'open' }],
    ],
    ['is not known if most records have it', null, [{ deletedAt: at(1) }, { deletedAt: at(2) }, {}]],
    ['is not known if none has it', null, [{ deletedAt: at(50) }, { deletedAt: '' }, { status: 'open' }]],
  ])('%s', (_, rule, rows) => {
    expect(seen(...rows.map((row, n) => [`${n}`, row] as const)).deleted(now)).toEqual(rule);
  });
});

describe('doctor --try-service', () => {
  const NOW = Date.parse('2026-11-21T02:00:00Z');
  const record = (id: number, more: object = {}): object => ({
    id: `${id}`,
    title: `Title ${id}`,
    updatedAt: new Date(NOW - 3_600_000).toISOString(),
    ...more,
  });
  it('compares the list with the published rows, and proposes settings that make the next export right', async () => {
    let records = Array.from({ length: 8 }, (_, id) => record(id));
    const service = await AnswerService.start(({ query }) => {
      const since = query.get('updatedSince');
      const shown = records.filter(
        (one) => since === null || (one as { updatedAt: string }).updatedAt >= since,
      );
      return { status: 200, headers: { date: new Date(NOW).toUTCString() }, body: pageOf(shown) };
    });
    const mirror = await mirrorEntries(service.url, 'path: entries');
    await mirror.run();
    const later = new Date(NOW - 60_000).toISOString();
    records = [
      record(0, { updatedAt: later, title: 'edited' }),
      record(1, { updatedAt: later, title: 'edited' }),
      record(2, { updatedAt: later, deletedAt: later }),
      record(3, { updatedAt: later, title: 'edited' }),
      ...[4, 5, 6, 7].map((id) => record(id)),
    ];
    const { suggestions, findings } = await tryService(mirror.settings, 10_000);
    expect(suggestions.resources).toEqual({
      entries: { updatedAt: 'updatedAt', deleted: { field: 'deletedAt' } },
    });
    expect(findings.filter(({ state }) => state !== 'ok').map(({ message }) => message)).toEqual([
      'entries: "updatedAt" moved forward with each change that was seen, and never back',
      'entries: some records say in "deletedAt" that they are deleted',
    ]);
    const text = `connections: { acme: { baseUrl: "${service.url}", apiKey: { env: PATH }, lake: { url: "${mirror.settings.lake.url}" }, resources: [{ name: entries, path: entries, ${JSON.stringify(suggestions.resources.entries).slice(1, -1)} }] } }`;
    const after = parseSettings(text, 'worktrack.yaml').connections[0]!;
    expect((await tryService(after, 10_000)).suggestions.resources).toEqual({});
  });
});
