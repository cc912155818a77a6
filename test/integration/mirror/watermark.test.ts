import { afterEach, describe, expect, it } from 'vitest';
import type { RunCounts } from '../../../src/core/contract/index.js';
import type { SimulatorOptions } from '../../../src/simulator/index.js';
import { expectMirrored, listedIds } from '../../support/mirrored.js';
import { drawn } from '../../support/seeds.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ROWS = 60;

let stack: Stack;
afterEach(() => stack?.stop());

/** Sixty tasks in three pages, from a service whose clock is stopped. */
async function started(sync: string, simulator: SimulatorOptions = {}): Promise<void> {
  stack = await startStack({
    s3: true,
    simulator: { seed: 11, awkward: false, now: Date.now(), counts: { tasks: ROWS }, ...simulator },
    resources: '[tasks]',
    yaml: `    sync: { pageSize: 20, reconcileEvery: never, ${sync} }\n`,
  });
  await stack.startWorker();
}

async function exported(full = false): Promise<RunCounts> {
  const { outcome, runs } = await stack.export({ full });
  expect(outcome, JSON.stringify(runs)).toBe('published');
  return runs[0]!.counts!;
}

const touch = (...ids: string[]) => stack.simulator.admin.touch('tasks', { ids });
const listed = () => listedIds(stack, 'tasks');
/** Between two pages: the next page is requested, and the previous one is read. */
const whilePageIsAsked = (page: number, action: () => void) =>
  stack.simulator.admin.beforeAnswer({ resource: 'tasks', page }, action);
const checkpoint = async () => Date.parse((await readPointer(stack.store, 'tasks')).checkpoint.updatedSince);

const CLOCKS = [
  { clock: 'earliest', ahead: 6 },
  { clock: 'earliest', ahead: -6 },
  { clock: 'service', ahead: 6 },
  { clock: 'service', ahead: -6 },
] as const;
const BACK = [
  { clock: 'earliest', when: 'between two runs' },
  { clock: 'service', when: 'between two runs' },
  { clock: 'earliest', when: 'during a run' },
] as const;
const BOUNDS = [
  { bound: 'inclusive', overlap: '0s', stamps: 'milliseconds' },
  { bound: 'exclusive', overlap: '0s', stamps: 'milliseconds' },
  { bound: 'exclusive', overlap: '0s', stamps: 'whole seconds' },
  { bound: 'inclusive', overlap: '5m', stamps: 'milliseconds' },
  { bound: 'exclusive', overlap: '5m', stamps: 'whole seconds' },
] as const;

describe('the checkpoint', () => {
  it.each(drawn(CLOCKS, 1, ({ clock, ahead }) => clock === 'earliest' && ahead === -6))(
    'the checkpoint with clock: $clock and a service $ahead h ahead of the worker is that of the start of the run, however long it lasts',
    async ({ clock, ahead }) => {
      const serviceStart = Date.now() + ahead * HOUR;
      await started(`clock: ${clock}`, { now: serviceStart });
      const { admin } = stack.simulator;
      const [first, second] = listed() as [string, string];
      whilePageIsAsked(1, () => touch(first));
      whilePageIsAsked(2, () => admin.advance(HOUR));
      const workerStart = Date.now();
      await exported();
      const workerEnd = Date.now();
      const found = (await checkpoint()) + 5 * MINUTE;
      if (clock === 'service' || ahead < 0) {
        // Less the time that the first response took.
        expect(found).toBeGreaterThan(serviceStart - (workerEnd - workerStart) - 1000);
        expect(found).toBeLessThanOrEqual(serviceStart);
      } else {
        expect(found).toBeGreaterThan(workerStart - 1000);
        expect(found).toBeLessThanOrEqual(workerEnd);
      }
      admin.advance(HOUR);
      touch(second);
      expect(await exported()).toMatchObject({ updated: 2, inserted: 0, rows: ROWS });
      await expectMirrored(stack, 'tasks');
    },
  );

  it('is the earliest of the other clocks if the service sends no time, and the next run reads changes made during a run', async () => {
    await started('clock: service', { date: 'omit' });
    whilePageIsAsked(1, () => touch(listed()[0]!));
    const before = Date.now();
    await exported();
    // The store's `Date` is in whole seconds, and so is the checkpoint.
    expect((await checkpoint()) + 5 * MINUTE).toBeGreaterThan(before - MINUTE);
    expect((await checkpoint()) + 5 * MINUTE).toBeLessThanOrEqual(Date.now());
    expect(await exported()).toMatchObject({ updated: 1 });
    await expectMirrored(stack, 'tasks');
  });

  it.each(drawn(BACK, 1))(
    "the checkpoint with clock: $clock loses no change when the service's clock goes back $when, and never goes back itself",
    async ({ clock, when }) => {
      await started(`clock: ${clock}`);
      const { admin } = stack.simulator;
      const [first, second, third] = listed() as [string, string, string];
      const goBack = (): void => {
        admin.advance(-3 * HOUR);
        touch(first);
      };
      if (when === 'during a run') whilePageIsAsked(1, goBack);
      await exported();
      const checkpoints = [await checkpoint()];
      if (when === 'between two runs') goBack();
      for (const id of [second, third]) {
        admin.advance(MINUTE);
        touch(id);
        await exported();
        await expectMirrored(stack, 'tasks');
        checkpoints.push(await checkpoint());
        expect((await readSnapshot(stack.store, 'tasks')).warnings).toEqual([
          expect.stringContaining("the service's clock seems to have been set back"),
        ]);
      }
      // Changed before the clock is corrected, so its time is earlier than the checkpoint.
      touch(first);
      for (const id of [second, third]) {
        if (id === second) admin.advance(3 * HOUR);
        touch(id);
        await exported();
        await expectMirrored(stack, 'tasks');
        checkpoints.push(await checkpoint());
      }
      expect([...checkpoints].sort()).toEqual(checkpoints);
      expect((await readSnapshot(stack.store, 'tasks')).warnings).toEqual([]);
    },
  );
});

describe('the bound of updatedSince', () => {
  it.each(drawn(BOUNDS, 1, ({ overlap, stamps }) => overlap === '0s' && stamps === 'whole seconds'))(
    'may be $bound with an overlap of $overlap and a service that keeps $stamps: a change in the bounding second is read',
    async ({ bound, overlap, stamps }) => {
      const second = Math.floor(Date.now() / 1000) * 1000;
      const now = stamps === 'milliseconds' ? second : second + 999;
      await started(`clock: service, overlap: ${overlap}`, { updatedSinceBound: bound, now });
      const { admin } = stack.simulator;
      const change = (id: string, at: number): void => {
        const ms = stamps === 'milliseconds' ? at : Math.floor(at / 1000) * 1000;
        admin.update('tasks', id, { name: `changed at ${at}`, updatedAt: new Date(ms).toISOString() });
      };
      // The record exists during the first run, with the second that the next run starts from.
      change(listed()[40]!, second - 5 * MINUTE);
      whilePageIsAsked(1, () => change(listed()[0]!, now));
      await exported();
      expect((await checkpoint()) % 1000).toBe(0);
      expect(await exported()).toMatchObject({ updated: 1, rows: ROWS });
      await expectMirrored(stack, 'tasks');
    },
  );
});

describe('a list that changes during the read', () => {
  it('returns a record twice that moves to its end, and the newer version counts', async () => {
    await started('clock: service', { order: 'updatedAt' });
    stack.simulator.admin.advance(HOUR);
    const [first] = stack.simulator.admin
      .records('tasks')
      .map((text) => JSON.parse(text) as { id: string; updatedAt: string })
      .sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1));
    whilePageIsAsked(2, () => touch(first!.id));
    // A repeated key may mean that another record was skipped, so the run rereads the list and catches up.
    expect(await exported()).toMatchObject({ fetched: 2 * ROWS + 2, duplicates: ROWS + 2, rows: ROWS });
    await expectMirrored(stack, 'tasks');
  });

  it('includes a change on a page already read in the next increment', async () => {
    await started('clock: service');
    await exported();
    stack.simulator.admin.advance(HOUR);
    const [first, second] = touch(...listed());
    whilePageIsAsked(2, () => {
      stack.simulator.admin.advance(MINUTE);
      touch(first!);
      stack.simulator.admin.create('tasks', { id: '00000000000000000000000000', name: 'before all others' });
    });
    expect(await exported()).toMatchObject({ updated: ROWS, inserted: 0 });
    stack.simulator.admin.advance(HOUR);
    touch(second!);
    expect(await exported()).toMatchObject({ updated: 2, inserted: 1 });
    await expectMirrored(stack, 'tasks');
  });

  it('hides a record by shifting, and is reread immediately', async () => {
    await started('clock: service', { order: 'updatedAt', cursorStyle: 'offset' });
    stack.simulator.admin.advance(HOUR);
    const [first] = stack.simulator.admin
      .records('tasks')
      .map((text) => JSON.parse(text) as { id: string; updatedAt: string })
      .sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1));
    whilePageIsAsked(1, () => touch(first!.id));
    // The first read skips a record between two pages.
    expect(await exported()).toMatchObject({ fetched: 2 * ROWS + 1, duplicates: ROWS + 1, rows: ROWS });
    await expectMirrored(stack, 'tasks');
  });

  it('shows a change with a delay, and the overlap catches it', async () => {
    await started('clock: service', { visibilityLagMs: 2 * MINUTE });
    const { admin } = stack.simulator;
    await exported();
    touch(...listed().slice(0, 3));
    admin.advance(MINUTE);
    // The change is not yet visible, and the checkpoint moves past it.
    expect(await exported()).toMatchObject({ updated: 0 });
    admin.advance(2 * MINUTE);
    expect(await exported()).toMatchObject({ updated: 3 });
    await expectMirrored(stack, 'tasks');
  });
});
