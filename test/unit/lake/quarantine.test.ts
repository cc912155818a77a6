import { describe, expect, it } from 'vitest';
import { type ObjectKey, type RunId, toByteString } from '../../../src/core/brands.js';
import { findRecord } from '../../../src/lake/published/find-record.js';
import {
  keysInQuarantine,
  notePurge,
  removeFromQuarantine,
  sweepQuarantine,
} from '../../../src/lake/published/quarantine.js';
import { writeQuarantine } from '../../../src/lake/rows/people-csv.js';
import { cellRule, type Profile, unmaskedKeys } from '../../../src/lake/rows/profile.js';
import { collected } from '../../../src/lake/store/index.js';
import { temporaryLake } from './data-plane.js';
import { CSV } from './published.js';

const lake = temporaryLake();
const PURGE = '20261121T020000Z-00000002' as RunId;
const { signal } = new AbortController();
const NO_COLUMNS = { include: null, exclude: [], mask: {} } as unknown as Profile['columns'];

let resources = 0;

function profileOf(key: readonly string[], csv: Partial<Profile['csv']> = {}): Profile {
  return { key, csv: { ...CSV, ...csv }, columns: NO_COLUMNS };
}

/** Writes a file as a run with these settings does. @param values of the columns, as the service has them */
async function quarantine(
  resource: string,
  name: string,
  profile: Profile,
  columns: readonly string[],
  values: readonly (readonly (string | null)[])[],
): Promise<ObjectKey> {
  const ready = unmaskedKeys(profile);
  const cells = values.map((row) =>
    row.map((value, at) => {
      if (value === null) return null;
      const rule = cellRule(ready, columns[at]!);
      return rule === null ? toByteString(value) : rule(toByteString(value));
    }),
  );
  const key = `_quarantine/${resource}/20261120T020000Z-00000001/${name}.csv` as ObjectKey;
  const typed = columns.map((column) => ({ name: column, types: 0 }));
  await writeQuarantine(lake.store, key, cells, typed as never, profile.csv);
  return key;
}

const textOf = async (key: ObjectKey): Promise<string | undefined> =>
  (await lake.store.readIfExists(key))?.body.toString();

const without = async (resource: string, key: readonly string[], values: readonly string[]) => {
  const { columns, keys } = keysInQuarantine([unmaskedKeys(profileOf(key))], values);
  return removeFromQuarantine(lake.store, resource, { columns, isKey: (one) => keys.has(one) }, signal);
};

describe('a purge of quarantine files', () => {
  const start = (): string => `q${resources++}`;

  it('rewrites files that have other rows, removes files that have none, and leaves all others as they are', async () => {
    const resource = start();
    const profile = profileOf(['id']);
    const columns = ['id', 'name'];
    const mixed = await quarantine(resource, 'mixed', profile, columns, [
      ['1', 'Erika, "the first"\nof two'],
      ['10', 'Ada'],
      ['1', 'Erika'],
      [null, 'Erika without a key'],
    ]);
    const alone = await quarantine(resource, 'alone', profile, columns, [['1', 'Erika']]);
    const other = await quarantine(resource, 'other', profile, columns, [['2', '1']]);
    const before = await textOf(other);
    expect(await findRecord(lake.store, resource, ['1'], profile)).toEqual({
      ...{ snapshots: 0, changeLogs: 0 },
      quarantineFiles: 2,
    });
    expect((await without(resource, ['id'], ['1'])).files).toBe(2);
    expect(await textOf(mixed)).toBe('id,name\n10,Ada\n,Erika without a key\n');
    expect(await textOf(alone)).toBeUndefined();
    expect(await textOf(other)).toBe(before);
    expect((await without(resource, ['id'], ['1'])).files).toBe(0);
  });

  it.each([
    ['=1+1', {}],
    ['=1+1', { escapeFormulas: true }],
    ["'=1+1", { escapeFormulas: true }],
    ['-5', {}],
    ['-5', { escapeFormulas: true }],
    ['a\nb\\c', { lineBreaks: 'escape' }],
    ['a\nb\\c', {}],
    ['with, comma "and" quotes', {}],
    [' spaces ', {}],
    ['Zoë', {}],
    ['x', { delimiter: ';' }],
    ['x', { delimiter: '\t' }],
    ['x', { delimiter: '_' }],
    ['x|y', { delimiter: '|' }],
  ] as const)('finds the key %j written with %j, whatever the settings are now', async (id, csv) => {
    const resource = start();
    const profile = profileOf(['my-id'], csv);
    const rows = [
      [id, 'a'],
      ["'", 'b'],
      ['other', id],
    ];
    const key = await quarantine(resource, 'file', profile, ['my-id', 'n_me,x'], rows);
    expect((await without(resource, ['my-id'], [id])).files).toBe(1);
    const left = await textOf(key);
    expect(left?.split('\n')[0]).toContain('my-id');
    expect(left).toMatch(/\n'*.b\n/s);
    expect((await without(resource, ['my-id'], [id])).files).toBe(0);
  });

  it('compares all columns of a compound key, wherever the file has them', async () => {
    const resource = start();
    const rows = [
      ['1', 'Ada', 'A'],
      ['1', 'Erika', 'B'],
      ['2', 'Erika', 'B'],
    ];
    // A run with the key `id` found that it is not unique.
    const key = await quarantine(resource, 'file', profileOf(['id']), ['id', 'name', 'projectId'], rows);
    const partial = await quarantine(resource, 'partial', profileOf(['id']), ['id'], [['1']]);
    expect((await without(resource, ['projectId', 'id'], ['B', '1'])).files).toBe(1);
    expect(await textOf(key)).toBe('id,name,projectId\n1,Ada,A\n2,Erika,B\n');
    expect(await textOf(partial)).toBe('id\n1\n');
  });

  it('reads what a spreadsheet has saved', async () => {
    const resource = start();
    const key = `_quarantine/${resource}/20261120T020000Z-00000001/saved.csv` as ObjectKey;
    await lake.store.write(key, Buffer.from('\ufeffname;id\r\nErika;1\r\nAda;2\r\n'));
    expect((await without(resource, ['id'], ['1'])).files).toBe(1);
    expect(await textOf(key)).toBe('\ufeffname;id\r\nAda;2\r\n');
  });

  it('is repeated by the sweep, without the key, for files that arrived late', async () => {
    const resource = start();
    const profile = profileOf(['id']);
    const sought = keysInQuarantine([unmaskedKeys(profile)], ['1']);
    const later = '20261121T020001Z-00000003' as RunId;
    await notePurge(lake.store, resource, PURGE, sought);
    await notePurge(lake.store, resource, later, keysInQuarantine([unmaskedKeys(profile)], ['3']));
    const late = await quarantine(
      resource,
      'late',
      profile,
      ['id', 'name'],
      [
        ['1', 'Erika'],
        ['2', 'Ada'],
        ['3', 'Eve'],
      ],
    );
    await sweepQuarantine(lake.store, resource, PURGE, signal);
    expect(await textOf(late)).toBe('id,name\n2,Ada\n3,Eve\n');
    const listed = async () =>
      (await collected(lake.store.list(`_quarantine/${resource}/`))).map(({ key }) => key);
    expect(await listed()).toEqual([late, `_quarantine/${resource}/${later}/purged.json`]);
    await sweepQuarantine(lake.store, resource, later, signal);
    expect(await textOf(late)).toBe('id,name\n2,Ada\n');
    expect(await listed()).toEqual([late]);
  });
});
