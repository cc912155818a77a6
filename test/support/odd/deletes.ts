import type { Simulator } from '../../../src/simulator/index.js';
import type { OddCase } from './odd-case.js';

/** Tasks in a window of 90 days, which their creation dates; a full read is due in every run. */
const WINDOWED = {
  simulator: { counts: { tasks: 0 }, resources: [{ name: 'tasks', count: 0, windowField: 'day' }] },
  resources: '[{ name: tasks, window: 90d, windowField: day }]',
  yaml: '    sync: { pageSize: 10 }\n',
} as const;

const DAY = 86_400_000;
const idsOf = ({ admin }: Simulator): string[] =>
  admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id);

/** Before the second run, two tasks are deleted. With `allowDeletes`, both of the last runs look for deletes. */
function removeTwo(simulator: Simulator, run: 2 | 3): void {
  if (run === 2) simulator.admin.remove('tasks', idsOf(simulator).slice(3, 5));
}

const looksForDeletes = (run: 1 | 2 | 3) => (run === 1 ? {} : { allowDeletes: true });

/** Before the second run, six tasks are there that the first run could not see. The first run reads an empty list. */
function dated(simulator: Simulator, run: 2 | 3): void {
  const { admin } = simulator;
  const day = (ago: number) => new Date(admin.now() - ago * DAY).toISOString();
  if (run === 2)
    for (const ago of [80, 60, 40, 20, 10, 9]) admin.create('tasks', { name: 'Dated', day: day(ago) });
  else admin.remove('tasks', idsOf(simulator).slice(1, 3));
}

function datedAtFirst(simulator: Simulator, run: 2 | 3): void {
  if (run === 2) dated(simulator, run);
}

const seen = [{}, { rows: 6 }] as const;
/** The third run marks the two deleted tasks. */
const marked: OddCase['runs'] = [...seen, { rows: 4 }, { rows: 3 }];
/** It keeps them, and says why. */
const kept: OddCase['runs'] = [
  ...seen,
  { rows: 6, warns: /deletes: `windowField` "day" has a value of the form/ },
  { rows: 6, warns: /deletes: `windowField` "day" has a value of the form/ },
];

const windowed = (odd: string, runs: OddCase['runs']): OddCase => ({
  ...{ odd: [odd], ...WINDOWED, change: dated, runs: runs! },
  request: (run) => (run === 3 ? { allowDeletes: true } : {}),
});

const byId = (odd: string, runs: OddCase['runs']): OddCase => ({
  ...{ odd: [odd], resources: '[{ name: tasks, fetchById: true }]', change: removeTwo, runs: runs! },
  request: looksForDeletes,
});

const unconfirmed = /deletes: \d+ records no longer listed, but the service confirmed neither/;

/** The endpoint proves nothing, so a second reading does. */
const endpoint = /deletes: GET tasks\/<id> did not find a record that the list had just shown/;

export const DELETE_CASES: readonly OddCase[] = [
  windowed('dates-epoch-seconds', marked),
  windowed('dates-epoch-milliseconds', marked),
  windowed('dates-without-zone', marked),
  windowed('dates-with-offset', marked),
  windowed('dates-of-weeks', marked),
  windowed('dates-day-month-year', kept),
  byId('by-id-404', [{}, { rows: 28, warns: endpoint }, { rows: 28 }, { rows: 27 }]),
  byId('by-id-200', [{}, { rows: 28, warns: endpoint }, { rows: 28 }, { rows: 27 }]),
  byId('by-id-403', [{}, { rows: 28, warns: endpoint }, { rows: 28 }, { rows: 27 }]),
  {
    odd: ['lists-become-empty'],
    title: 'with 20 rows or fewer',
    simulator: { counts: { tasks: 15 } },
    yaml: '    sync: { pageSize: 10, reconcileEvery: 1ms }\n',
    change: () => {},
    runs: [
      {},
      { rows: 15, warns: /deletes: the list is empty, but 15 rows/ },
      { rows: 15 },
      { rows: 15, warns: /deletes: the list is empty, but 15 rows/ },
    ],
  },
  {
    odd: ['lists-become-empty'],
    title: 'with more than 20 rows',
    yaml: '    sync: { pageSize: 10, reconcileEvery: 1ms }\n',
    change: () => {},
    runs: [
      {},
      { exit: 1, rows: 30, says: /the list is empty, but run .* has 30 rows that it should show/ },
      { exit: 1, rows: 30, says: /the list is empty/ },
    ],
  },
  {
    odd: ['hidden-records'],
    title: 'with fetch by id',
    simulator: { counts: { tasks: 30 }, fetchById: 'all' },
    resources: '[{ name: tasks, fetchById: true }]',
    change: () => {},
    request: looksForDeletes,
    runs: [{}, { rows: 30, warns: unconfirmed }, { rows: 30 }, { rows: 29, warns: unconfirmed }],
  },
  {
    odd: ['moved-records'],
    title: 'with fetch by id',
    ...WINDOWED,
    simulator: { ...WINDOWED.simulator, fetchById: 'all' },
    resources: '[{ name: tasks, window: 90d, windowField: day, fetchById: true }]',
    change: datedAtFirst,
    request: looksForDeletes,
    // The last task is one of those that have left the window, so it stays.
    runs: [...seen, { rows: 6 }, { rows: 6 }],
  },
  { odd: ['updated-since-ignored'] },
  { odd: ['updated-since-tokyo'] },
  { odd: ['updated-since-new-york'], yaml: '    sync: { pageSize: 10, overlap: 6h5m }\n' },
];
