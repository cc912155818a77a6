import { afterEach, describe, expect, it } from 'vitest';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;

describe('Deletes inside a window', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each([0, 3])('mark no row that has left it while a clock is behind (days: %s)', async (days) => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { 'time-entries': 30 }, date: 'omit' },
      resource: 'time-entries',
      yaml: '{ name: time-entries, windowField: startedAt, fetchById: false }',
    });
    const { admin } = mirror.simulator;
    const old = admin.create('time-entries', {
      startedAt: new Date(Date.now() - 89.5 * DAY).toISOString(),
    });
    await mirror.run();
    admin.advance(DAY);
    mirror.clock += DAY - days * DAY;
    expect(admin.records('time-entries').map(idOf)).toContain(old);
    await mirror.run({ reconcile: true });
    const { rows } = await readSnapshot(mirror.store, 'time-entries');
    expect(rows.find(({ id }) => id === old)).toMatchObject({ _deleted_at: null });
  });
});

describe('Deletes of new rows inside a window', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each([
    ['send', true],
    ['omit', false],
  ] as const)("wait for a worker's clock that is behind only without `Date` (%s)", async (date, isMarked) => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { 'time-entries': 30 }, date },
      resource: 'time-entries',
      yaml: '{ name: time-entries, windowField: startedAt, fetchById: false }',
    });
    const { admin } = mirror.simulator;
    admin.advance(10 * DAY);
    mirror.clock += 10 * DAY;
    const startedAt = new Date(admin.now() - 3 * DAY).toISOString();
    const id = admin.create('time-entries', { startedAt });
    await mirror.run();
    admin.remove('time-entries', [id]);
    await mirror.run({ reconcile: true });
    const { rows } = await readSnapshot(mirror.store, 'time-entries');
    expect(rows.find((row) => row.id === id)?._deleted_at !== null).toBe(isMarked);
  });
});

describe('A mirror whose service sends no Date', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each(['earliest', 'service'])(
    "loses no change when Temporal's clock jumps ahead, and warns (sync.clock: %s)",
    async (clock) => {
      mirror = await InProcessMirror.start({
        simulator: { seed: 7, awkward: false, counts: { tasks: 5 }, date: 'omit' },
        resource: 'tasks',
        yaml: '{ name: tasks }',
        connection: `    sync: { clock: ${clock} }`,
      });
      const { admin } = mirror.simulator;
      await mirror.run();
      mirror.clock += DAY;
      expect((await mirror.run()).warnings).toEqual([
        expect.stringContaining("Temporal's clock is 24 h ahead of the worker's clock"),
      ]);
      admin.create('tasks', {});
      expect(await mirror.run()).toMatchObject({ counts: { inserted: 1 } });
    },
  );
});
