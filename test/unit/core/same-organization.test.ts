import { describe, expect, it } from 'vitest';
import {
  type ComparedRecord,
  neededRecords,
  showsSameOrganization,
} from '../../../src/core/same-organization.js';

type Fields = Readonly<Record<string, string>>;

const pair = (known: Fields, found: Fields): ComparedRecord => ({
  known: new Map(Object.entries(known)),
  found: new Map(Object.entries(found)),
});
const pairs = (n: number, of: (at: number) => ComparedRecord): ComparedRecord[] =>
  Array.from({ length: n }, (_, at) => of(at));

const task = (owner: string, at: number): Fields => ({
  title: `${owner} ${at}`,
  amount: String((at * owner.charCodeAt(0)) % 997),
  date: `2026-11-${10 + (at % 20)}`,
  status: 'open',
  archived: 'false',
  currency: 'EUR',
});
const same = (at: number) => pair(task('a', at), task('a', at));
const other = (at: number) => pair(task('a', at), task('b', at + 7));
/** Without a title and a date, but with all that many records share. */
const alike = (at: number) => pair({ status: 'open', archived: 'false', currency: 'EUR' }, task('b', at));

describe('Records of a list', () => {
  it.each<[string, readonly ComparedRecord[], number, boolean]>([
    ['20 equal records', pairs(20, same), 20, true],
    ['19 equal records', pairs(19, same), 20, false],
    ['one record whose only neighbours are new', pairs(1, same), 1, true],
    ['none', [], 1, false],
    ['ids that another organization has, too', pairs(500, other), 20, false],
    ['20 equal records among more that differ', [...pairs(20, same), ...pairs(21, other)], 20, false],
    ['more equal records than others that have changed', [...pairs(30, same), ...pairs(20, other)], 20, true],
    ['cells that many records share', pairs(200, alike), 20, false],
    ['records with nothing but keys', pairs(200, () => pair({}, {})), 20, false],
    [
      'one changed cell in each',
      pairs(20, (at) => pair(task('a', at), { ...task('a', at), date: 'x' })),
      20,
      true,
    ],
    [
      'a field that the service no longer shows',
      pairs(20, (at) => pair(task('a', at), { title: `a ${at}`, amount: task('a', at).amount! })),
      20,
      true,
    ],
    [
      'a field that is new',
      pairs(20, (at) => pair(task('a', at), { ...task('a', at), more: '1' })),
      20,
      true,
    ],
    [
      'true and false',
      pairs(200, (at) => pair({ done: String(at % 2 === 0) }, { done: String(at % 2 === 0) })),
      20,
      false,
    ],
  ])('show the right organization: %s', (_, records, needed, shown) => {
    expect(showsSameOrganization(records, needed)).toBe(shown);
  });

  it.each([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 2],
    [39, 20],
    [40, 20],
    [1_000_000, 20],
  ])('have to be equal for a lake with %i rows: %i', (rows, needed) => {
    expect(neededRecords(rows)).toBe(needed);
  });
});
