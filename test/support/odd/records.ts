import type { Simulator } from '../../../src/simulator/index.js';
import type { Expected, OddCase } from './odd-case.js';

const idsOf = ({ admin }: Simulator): string[] =>
  admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id);

/** Before the second run, one task is deleted, and before the third one, one is new. */
function removeThenAdd(simulator: Simulator, run: 2 | 3): void {
  if (run === 2) simulator.admin.remove('tasks', [idsOf(simulator)[5]!]);
  else simulator.admin.create('tasks', { title: 'New' });
}

/** Changes with fields that tasks have already. */
function retitle({ admin }: Simulator): void {
  const [, , , id] = admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id);
  admin.update('tasks', id!, { title: `Changed at ${admin.now()}` });
  admin.create('tasks', { title: 'New' });
}

/** Before the second run, a task changes. Before the third one, another is new. */
function changeOnce(simulator: Simulator, run: 2 | 3): void {
  const [id] = idsOf(simulator);
  if (run === 2) simulator.admin.update('tasks', id!, { title: 'Second' });
  else simulator.admin.create('tasks', { title: 'New' });
}

const tasks = (keys: string): string => `[{ name: tasks, ${keys} }]`;
const reconciles: OddCase['request'] = (run) => (run === 1 ? {} : { reconcile: true });

/** The first list changes a record after it was read. */
const changedAfter = [{ rows: 30 }] as const;

const unproven: Expected = {
  rows: 30,
  warns: /1 record no longer listed, but the service confirmed neither/,
};

const unreachable: Expected = {
  ...{ exit: 1, rows: 'none' },
  says: /the page after record 1\d .* fails with each of \d page sizes, .*What is behind it cannot be reached/,
};

export const RECORD_CASES: readonly OddCase[] = [
  {
    odd: ['tombstones-in-increments'],
    change: removeThenAdd,
    runs: [{}, { rows: 30, warns: /set `deleted: \{ field: deleted \}` for tasks/ }, { rows: 31 }, {}],
  },
  {
    odd: ['tombstones-in-increments'],
    title: 'with the field',
    resources: tasks('deleted: { field: deleted }'),
    change: removeThenAdd,
  },
  {
    odd: ['by-id-deleted'],
    resources: tasks('fetchById: true, deleted: { field: deletedAt }'),
    change: removeThenAdd,
    request: reconciles,
  },
  {
    odd: ['by-id-deleted-short'],
    resources: tasks('fetchById: true, deleted: { field: deleted }'),
    change: removeThenAdd,
    request: reconciles,
  },
  {
    odd: ['by-id-deleted-short'],
    title: 'without the field',
    resources: tasks('fetchById: true'),
    change: removeThenAdd,
    request: reconciles,
    runs: [{}, unproven, { ...unproven, rows: 31 }, { rows: 31, warns: /2 records no longer listed, but/ }],
  },
  {
    odd: ['by-id-merged'],
    resources: tasks('fetchById: true'),
    change: removeThenAdd,
    request: reconciles,
    runs: [{}, unproven, { ...unproven, rows: 31 }, { rows: 31, warns: /2 records no longer listed, but/ }],
  },
  {
    odd: ['archived-records'],
    resources: tasks('fetchById: true'),
    runs: [...changedAfter, { rows: 31 }, { rows: 32 }, {}],
  },
  {
    odd: ['archived-records'],
    title: 'with the parameter',
    resources: tasks('params: { include_archived: "true" }'),
    runs: [...changedAfter, {}, {}],
  },
  { odd: ['replica-lags'], change: changeOnce, runs: [{}, {}, { rows: 31 }, {}] },
  {
    odd: ['replica-lags'],
    title: 'with `updatedAt`',
    resources: tasks('updatedAt: updatedAt'),
    change: changeOnce,
    runs: [{}, {}, { warns: /^updatedAt: 1 record came with an earlier "updatedAt" than before/m }, {}],
  },
  {
    odd: ['untimed-changes'],
    runs: [...changedAfter, { rows: 31 }, { rows: 32 }, { warns: /^missed: 1 row of tasks differs/m }],
  },
  {
    odd: ['whole-decimals'],
    resources: tasks('contract: freeze'),
    change: retitle,
    runs: [...changedAfter, {}, {}],
  },
  {
    odd: ['poison-record'],
    runs: [unreachable, unreachable, unreachable],
  },
];
