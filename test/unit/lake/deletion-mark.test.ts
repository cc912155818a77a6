import { describe, expect, it } from 'vitest';
import { type Cells, toByteString } from '../../../src/core/brands.js';
import { markIn, recordJudge, saysDeleted } from '../../../src/lake/rows/deletion-mark.js';

const NOW = Date.parse('2026-11-22T02:00:00Z');
const cell = (value: unknown) => {
  if (value === null || value === undefined) return value;
  return toByteString(typeof value === 'string' ? value : JSON.stringify(value));
};
const says = (value: unknown, values: readonly string[] | null = null) =>
  saysDeleted(cell(value), values, NOW);

describe('The value of a deletion field', () => {
  it.each([
    ...[undefined, null, false, 0, -0, '', ' ', 'false', 'no', '0', [], {}],
    ...['0000-00-00', '0000-00-00 00:00:00', '0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '01/01/1970'],
    ...['2099-01-01', '2026-11-24T00:00:00Z', '9999-12-31', 'Sun, 22 Nov 2099 02:00:00 GMT'],
    ...[-62135596800, 86400, '86400', 4102444800, 4102444800000],
    ...[253402300799, '253402300799', 253402300799000, 253402300799999, 253402214400000000],
    ...['off', '-', 'n/a', 'active', 'not deleted'],
  ])('does not say that the record is deleted: %j', (value) => expect(says(value)).toBe(false));

  it.each([
    ...[true, 'true', 1, '1', 'yes', 'deleted', { by: 'x' }, [1]],
    ...[1764291600, '1764291600', 1764291600000, 1764291600000000],
    ...[
      '20261121',
      '20261121103000',
      '2026-11-21 10:30',
      '2026-11-21T10:30:00+02:00',
      '1971-01-01T00:00:00Z',
    ],
    ...['Sat, 21 Nov 2026 02:00:00 GMT', '11/21/2026'],
  ])('says that the record is deleted: %j', (value) => expect(says(value)).toBe(true));

  it('is one of the configured values, as written', () => {
    for (const value of ['trashed', 2, true])
      expect(says(value, ['deleted', 'trashed', '2', 'true'])).toBe(true);
    for (const value of ['Trashed', 1, false, null])
      expect(says(value, ['trashed', '2', 'true'])).toBe(false);
  });

  it('is judged in linear time', () => {
    const start = performance.now();
    for (const text of ['0'.repeat(1e6), '1'.repeat(1e6), ' '.repeat(1e6), '0 '.repeat(5e5)]) says(text);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe('The name of a deletion field', () => {
  it.each([
    ...['deletedAt', 'is_removed', 'soft_deleted_at', 'hasBeenDeleted', 'inTrash', 'deletionTimestamp'],
    ...['dateRemoved', '_deleted', 'purged'],
  ])('is recognized: %s', (name) =>
    expect(markIn(name, cell(true), NOW)).toEqual({ field: name, values: null }),
  );

  it.each(['archived', 'deletedItems', 'deletable', 'removedFrom', 'operation'])(
    'is another one: %s',
    (name) => expect(markIn(name, cell(true), NOW)).toBeNull(),
  );
});

describe('A record about a deletion alone', () => {
  const names = ['id', 'title', 'hours', 'note', 'owner', 'team', 'plan', 'isDeleted', 'status', 'op'];
  const judge = (record: Readonly<Record<string, unknown>>) => {
    const cells: Cells = [];
    for (const [name, value] of Object.entries(record)) cells[names.indexOf(name)] = cell(value);
    return recordJudge(null, 1, () => NOW)(cells, names);
  };

  it.each([
    [
      { id: 'a', isDeleted: true },
      { field: 'isDeleted', values: null },
    ],
    [
      { id: 'a', isDeleted: true, title: null, status: 'x' },
      { field: 'isDeleted', values: null },
    ],
    [
      { id: 'a', title: 't', hours: 1, isDeleted: true },
      { field: 'isDeleted', values: null },
    ],
    [
      { id: 'a', status: 'Deleted' },
      { field: 'status', values: ['Deleted'] },
    ],
    [
      { id: 'a', op: 'delete' },
      { field: 'op', values: ['delete'] },
    ],
  ])('is recognized: %j', (record, rule) => expect(judge(record)).toEqual(rule));

  it.each([
    { id: 'a' },
    { id: 'a', isDeleted: false },
    { id: 'a', status: 'open' },
    { id: 'a', title: 't', hours: 1, note: 'n', owner: 'o', isDeleted: true },
    // Half of the fields that records have.
    { id: 'a', title: 't', hours: 1, note: 'n', isDeleted: true },
  ])('is another one: %j', (record) => expect(judge(record)).toBe('live'));
});
