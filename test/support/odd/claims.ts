import type { Simulator } from '../../../src/simulator/index.js';
import type { Expected, OddCase } from './odd-case.js';

const says = (text: RegExp): NonNullable<OddCase['runs']> => {
  const failed: Expected = { exit: 1, rows: 'none', says: text };
  return [failed, failed, failed];
};

const looksForDeletes = (run: 1 | 2 | 3) => (run === 1 ? {} : { allowDeletes: true });
const onceIncomplete = (words: RegExp): NonNullable<OddCase['runs']> => [
  {},
  { warns: words },
  { warns: words },
  // The deleted task stays.
  { rows: 32, warns: words },
];
const inParts = /was read in \d parts, by "updatedAt"; no deletes were concluded/;
const isCut = /has 31 records, but only 20 could be read.*`sync\.total: ignore`/;
const remainsCut = /has 30 records, but only 20 could be read/;
const cut = (odd: string): OddCase => ({
  odd: [odd],
  change: addOnce,
  request: (run) => (run === 3 ? { allowDeletes: true } : {}),
  runs: [{}, {}, { warns: isCut }, { rows: 31, warns: remainsCut }],
});

function addOnce({ admin }: Simulator, run: 2 | 3): void {
  if (run === 2) admin.create('tasks', { name: 'New' });
}

export const CLAIM_CASES: readonly OddCase[] = [
  {
    odd: ['incomplete-results'],
    request: looksForDeletes,
    runs: onceIncomplete(/the service says that the list is incomplete \("incomplete_results": true\)/),
  },
  {
    odd: ['failed-shards'],
    request: looksForDeletes,
    runs: onceIncomplete(/the list is incomplete \("_shards": \{ "failed": 1 \}\)/),
  },
  {
    odd: ['incomplete-in-words'],
    request: looksForDeletes,
    runs: onceIncomplete(/the list is incomplete \(Some results could not be loaded\.\)/),
  },
  {
    odd: ['partial-206'],
    request: looksForDeletes,
    runs: onceIncomplete(/the list is incomplete \(status 206 \(Partial Content\)\)/),
  },
  { odd: ['total-ignores-since'] },
  { odd: ['pages-206'] },
  { odd: ['pages-206-ignore-since'] },
  cut('list-cut'),
  cut('list-cut-header'),
  {
    odd: ['list-cut-400'],
    simulator: { counts: { tasks: 30 }, pageMax: 10 },
    runs: says(/tasks has 3\d records, but only 20 could be read\. .*Result window is too large\./),
  },
  { odd: ['empty-map-array'], simulator: { counts: { tasks: 25 } } },
  {
    odd: ['empty-map-array'],
    title: 'on a full page',
    runs: [
      { warns: /ends in an unusual way, on a page that is as full as the one before \("page": \[\]\)/ },
      {},
      {},
    ],
  },
  { odd: ['empty-cursor-array'], simulator: { counts: { tasks: 25 } } },
  {
    odd: ['empty-cursor-array'],
    title: 'on a full page',
    runs: [{ warns: /as full as the one before \("nextCursor": \[\]\)/ }, {}, {}],
  },
  { odd: ['null-records'], runs: says(/record 1 of page 0 .* is not an object.*badRecords: quarantine/) },
  {
    odd: ['null-records'],
    title: 'set aside',
    resources: '[{ name: tasks, badRecords: quarantine }]',
    runs: [
      { warns: /without a key written to _quarantine/ },
      {},
      {},
      { rows: 32, warns: /records without a key may be rows that seem to be gone/ },
    ],
  },
  {
    odd: ['cursors-end-early'],
    simulator: { counts: { tasks: 60 }, pageMax: 10 },
    runs: says(
      /Its cursors seem to live shorter than the list takes.*It is not shown that the list is in the order|name its field in `updatedAt`/,
    ),
  },
  {
    odd: ['cursors-end-early'],
    title: 'in the order of changes',
    simulator: { counts: { tasks: 60 }, pageMax: 10, order: 'updatedAt' },
    resources: '[{ name: tasks, updatedAt: updatedAt }]',
    yaml: '    sync: { pageSize: 10, overlap: 1s }\n',
    runs: [{ warns: inParts }, {}, {}, { rows: 62, warns: inParts }],
  },
  {
    odd: ['silent-changes'],
    request: (run) => (run === 3 ? { full: true } : {}),
    runs: [{}, { rows: 31 }, { warns: /^missed: \d rows? of tasks differ/m }],
  },
  {
    odd: ['since-too-old'],
    runs: [{}, { warns: /the service refused the time .*so this run read everything/ }, {}],
  },
  {
    odd: ['since-too-new'],
    runs: [{}, { warns: /the service refused the time .*, so changes were read from/ }, {}],
  },
  { odd: ['list-ended-410'], runs: says(/has ended the list.*\(410\)/) },
  { odd: ['announced-end'], runs: [{ warns: /announced: tasks: .*2027/ }, {}, {}] },
  {
    odd: ['marked-deletes'],
    resources: '[{ name: tasks, deleted: { field: deletedAt } }]',
    runs: [{}, { rows: 30 }, { rows: 31 }, { rows: 30 }],
  },
  { odd: ['last-page-0'], runs: says(/set `sync\.endCursors: \["0"\]`/) },
  { odd: ['last-page-end'], runs: says(/set `sync\.endCursors: \["end"\]`/) },
  {
    odd: ['last-page-end'],
    title: 'with the setting',
    yaml: '    sync: { pageSize: 10, endCursors: [end] }\n',
  },
  { odd: ['repeated-ids'], runs: says(/the key \(id\) is not unique/) },
  {
    odd: ['repeated-ids'],
    title: 'with the key that the message proposes',
    resources: '[{ name: tasks, key: [projectId, id] }]',
    change: ({ admin }) => void admin.create('tasks', { projectId: 'p-new', title: 'New' }),
    runs: [{ rows: 30 }, { rows: 31 }, { rows: 32 }, { rows: 31 }],
  },
];
