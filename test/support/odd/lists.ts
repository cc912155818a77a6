import type { Expected, OddCase } from './odd-case.js';

/** A failed run. Nothing is published, and the mirror serves the next request. */
function endless(says: RegExp): NonNullable<OddCase['runs']> {
  const failed: Expected = { exit: 1, rows: 'none', says };
  return [failed, failed, failed];
}

const LARGE = '    sync: { pageSize: 1000 }\n';
const THREE_PAGES = '    sync: { pageSize: 300 }\n';
const published: Expected = {};
const warned: Expected = {
  warns: /clock: the service's clock seems to have been set back; changes were read/,
};

export const LIST_CASES: readonly OddCase[] = [
  {
    odd: ['endless-empty-pages'],
    // A page that an attempt reads again is one of the 500.
    runs: endless(/tasks: the list does not end .*the last (500|49\d) pages in a row had no record/),
  },
  {
    odd: ['endless-last-page'],
    runs: endless(/the service repeats the same page: the last 500 pages in a row/),
  },
  { odd: ['endless-one-record'], runs: endless(/the service repeats records: the last 500 pages in a row/) },
  { odd: ['endless-list'], runs: endless(/the service repeats records: the last 500 pages in a row/) },
  {
    odd: ['cursor-ignored'],
    runs: endless(/the service seems to ignore `cursor`: the last 500 pages in a row/),
  },
  { odd: ['sparse-pages'] },
  { odd: ['growing-cursors'] },
  { odd: ['huge-cursor'], runs: endless(/a nextCursor of 100000 bytes; at most 65536 can be sent back/) },
  { odd: ['heavy-500'], yaml: LARGE },
  { odd: ['heavy-502'], yaml: LARGE },
  { odd: ['heavy-504'], yaml: LARGE },
  { odd: ['heavy-close'], yaml: LARGE },
  { odd: ['heavy-cut'], yaml: LARGE },
  { odd: ['heavy-timeout'], yaml: `${LARGE}    http: { headersTimeout: 1s }\n` },
  { odd: ['heavy-later-page'], yaml: THREE_PAGES, simulator: { counts: { tasks: 700 } } },
  { odd: ['outage-502'], yaml: LARGE },
  { odd: ['no-date'] },
  { odd: ['clock-back'], runs: [published, warned, warned] },
  { odd: ['clock-ahead-then-right'] },
];
