import { randomBytes } from 'node:crypto';
import { ActivityCancellationDetails } from '@temporalio/common';
import type { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import { haveSameRequest, newRunId } from '../../../src/core/run-id.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { isStaged, readSnapshot } from '../../support/snapshot.js';

const MIB = 1024 * 1024;

describe('a run that leaves the memory', () => {
  let mirror: InProcessMirror | undefined;
  beforeEach(shortenBackOffs);
  afterEach(() => mirror?.close());

  async function start(connection: string): Promise<InProcessMirror> {
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { tasks: 0 } },
      resource: 'tasks',
      yaml: '{ name: tasks, fetchById: true }',
      connection: `    sync: { overlap: 1m, ${connection} }\n`,
    });
    return mirror;
  }

  /** A run in the lake whose first phase takes so long. */
  function readingFor(hours: number): Parameters<InProcessMirror['run']>[0] {
    let phases = 0;
    return {
      inMemory: false,
      onStart: () => {
        if (phases++ === 0) mirror!.clock += hours * HOUR_MS;
      },
    };
  }

  async function expectService({ store, simulator }: InProcessMirror): Promise<readonly string[]> {
    const records = new Map(simulator.admin.records('tasks').map((text) => [idOf(text), text]));
    const { rows } = await readSnapshot(store, 'tasks');
    expect(rows.map(({ id }) => id).sort()).toEqual([...records.keys()].sort());
    for (const row of rows) assertRowEquals(row, records.get(row.id!)!);
    return rows.map((row) => row._run_id!);
  }

  it.each([
    ['more than 8 MiB', 'pageSize: 2', 12, MIB],
    ['a first page of more than 8 MiB', 'pageSize: 100', 12, MIB],
  ])('publishes every row under the run id of the lake: %s', async (_, connection, records, size) => {
    const { simulator, store } = await start(connection);
    for (let n = 0; n < records; n++)
      simulator.admin.create('tasks', {
        name: `task ${n}`,
        note: randomBytes((size * 3) / 4).toString('base64'),
      });
    const first = await mirror!.run();
    expect(first.inMemory).toBe(false);
    expect(new Set(await expectService(mirror!))).toEqual(new Set([first.runId]));
    const staged: string[] = [];
    for await (const { key } of store.list('_staging/')) if (isStaged(key)) staged.push(key);
    expect(staged).toEqual([]);
    // The next run fits again.
    simulator.admin.touch('tasks', { count: 1, pick: 'spread' });
    mirror!.clock += 60_000;
    const second = await mirror!.run();
    expect(second.counts).toMatchObject({ updated: 1, rows: records });
    expect(haveSameRequest(second.runId, first.runId)).toBe(false);
    await expectService(mirror!);
  });

  it('spills when the service lets it wait, and keeps what it has read', async () => {
    const { simulator } = await start('pageSize: 3');
    for (let n = 0; n < 10; n++) simulator.admin.create('tasks', { name: `task ${n}` });
    simulator.admin.faults.add({
      match: { resource: 'tasks', page: 2 },
      remaining: 1,
      fault: { kind: 'status', status: 429, retryAfter: 6 },
    });
    const { inMemory, counts, runId } = await mirror!.run();
    expect({ inMemory, rows: counts.rows, fetched: counts.fetched }).toEqual({
      ...{ inMemory: false, rows: 10, fetched: 10 },
    });
    expect(new Set(await expectService(mirror!))).toEqual(new Set([runId]));
  });

  /** Resolves when what a run has read is in the lake. */
  async function saved(id: RunId): Promise<void> {
    const list = async (): Promise<string[]> => {
      const keys: string[] = [];
      for await (const { key } of mirror!.store.list(`_staging/tasks/${id}/stage-`)) keys.push(key);
      return keys;
    };
    await vi.waitFor(async () => expect(await list()).not.toEqual([]), { timeout: 60_000, interval: 20 });
  }

  /** What a run holds is saved after some seconds of the monotonic clock, which goes ten times as fast. */
  function hurryClock(): void {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => 10 * now());
  }

  async function startWithHangingPage(): Promise<{ readonly id: RunId; pages(): number[] }> {
    hurryClock();
    const { simulator } = await start('pageSize: 3');
    for (let n = 0; n < 10; n++) simulator.admin.create('tasks', { name: `task ${n}` });
    simulator.admin.faults.add({
      match: { resource: 'tasks', page: 2 },
      remaining: 1,
      fault: { kind: 'hang' },
    });
    const id = newRunId(mirror!.clock + 1000, null, '0a0b0c0d');
    mirror!.nextId = id;
    const pages = () =>
      simulator.admin
        .stats()
        .recent.flatMap(({ resource, page }) => (resource === 'tasks' ? (page ?? []) : []));
    return { id, pages };
  }

  /** Begins a run, and cancels its activity once it has saved what it has read. */
  async function cancelledOnceSaved(id: RunId, by: 'cancelRequested' | 'workerShutdown'): Promise<void> {
    let environment: MockActivityEnvironment | undefined;
    const onStart = (started: MockActivityEnvironment): void => {
      environment = started;
    };
    const ended = mirror!.run({ onStart });
    ended.catch(() => {});
    await saved(id);
    const reason = by === 'cancelRequested' ? 'CANCELLED' : 'WORKER_SHUTDOWN';
    environment!.cancel(reason, new ActivityCancellationDetails({ [by]: true }));
    await expect(ended).rejects.toThrow();
  }

  it('saves what it has read although a page hangs, so that a killed worker costs no page before it', async () => {
    const { id, pages } = await startWithHangingPage();
    await cancelledOnceSaved(id, 'workerShutdown');
    mirror!.nextId = id;
    const { runId, inMemory, counts } = await mirror!.run({ attempt: 2 });
    expect({ runId, inMemory, rows: counts.rows }).toEqual({ runId: id, inMemory: false, rows: 10 });
    await expectService(mirror!);
    // Only the page that hung was requested twice.
    expect(pages()).toEqual([0, 1, 2, 2, 3]);
  });

  it('removes what it has saved if someone cancels it while a page hangs', async () => {
    const { id } = await startWithHangingPage();
    await cancelledOnceSaved(id, 'cancelRequested');
    const left: string[] = [];
    for await (const { key } of mirror!.store.list('')) left.push(key);
    expect(left).toEqual([]);
  });

  it('leaves a page that hangs to another worker if its own one stops', async () => {
    const { id, pages } = await startWithHangingPage();
    const ended = mirror!.run({
      // The next activity is on another worker.
      onStart: () => {
        mirror!.draining = false;
      },
    });
    await vi.waitFor(() => expect(pages()).toContain(2), { timeout: 60_000 });
    mirror!.draining = true;
    await saved(id);
    const { runId, inMemory, counts } = await ended;
    expect({ runId, inMemory, rows: counts.rows }).toEqual({ runId: id, inMemory: false, rows: 10 });
    await expectService(mirror!);
  });

  it('gives up as long after its start as if it had not left the memory', async () => {
    const { simulator } = await start('pageSize: 3');
    for (let n = 0; n < 10; n++) simulator.admin.create('tasks', { name: `task ${n}` });
    const fault = { kind: 'status', status: 503 } as const;
    simulator.admin.faults.add({ match: { resource: 'tasks', page: 2 }, fault });
    await expect(mirror!.run()).rejects.toMatchObject({ type: 'Transient', nonRetryable: false });
    const ref = { connection: 'acme', resource: 'tasks', runId: mirror!.newestId! };
    const input = { ...ref, step: 0, batch: 0 };
    const { giveUpAfterMs } = mirror!.settings.retries;
    mirror!.clock += giveUpAfterMs / 2;
    await expect(mirror!.step('worktrack.read', input, 2, giveUpAfterMs / 2)).rejects.toMatchObject({
      nonRetryable: false,
    });
    mirror!.clock += giveUpAfterMs / 2;
    await expect(mirror!.step('worktrack.read', input, 3, giveUpAfterMs)).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: true },
      message: expect.stringMatching(/^gave up: /),
    });
  });

  it.each([1, 6.5])('retries a short failure after %s hours of progress', async (hours) => {
    const { simulator } = await start('pageSize: 5');
    for (let n = 0; n < 30; n++) simulator.admin.create('tasks', { name: `task ${n}` });
    const fault = { kind: 'status', status: 503, retryAfter: 30 } as const;
    simulator.admin.faults.add({ match: { resource: 'tasks', page: 3 }, remaining: 1, fault });
    await expect(mirror!.run(readingFor(hours))).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: false },
    });
  });

  it.each([1, 5.5, 7])('proves a delete by id after %s hours of progress', async (hours) => {
    const { simulator } = await start('pageSize: 5');
    const ids = Array.from({ length: 30 }, (_, n) => simulator.admin.create('tasks', { name: `task ${n}` }));
    await mirror!.run();
    simulator.admin.remove('tasks', [ids[7]!]);
    mirror!.clock += 60_000;
    const run = await mirror!.run({ ...readingFor(hours), reconcile: true, full: true });
    expect(run.counts.deleted).toBe(1);
  });

  it('spills before it asks for many records by id', async () => {
    const { simulator } = await start('pageSize: 100');
    const ids = Array.from({ length: 60 }, (_, n) => simulator.admin.create('tasks', { name: `task ${n}` }));
    await mirror!.run();
    for (const [removed, inMemory] of [
      [ids.slice(0, 5), true],
      [ids.slice(5, 30), false],
    ] as const) {
      simulator.admin.remove('tasks', [...removed]);
      mirror!.clock += 60_000;
      const run = await mirror!.run({ allowDeletes: true });
      expect(run.counts.deleted).toBe(removed.length);
      expect(run.inMemory).toBe(inMemory);
    }
  });

  it('carries out each phase once in the lake, and repeats its answer if that was lost', async () => {
    const { simulator } = await start('pageSize: 5');
    const ids = Array.from({ length: 30 }, (_, n) => simulator.admin.create('tasks', { name: `task ${n}` }));
    await mirror!.run();
    const step = mirror!.step.bind(mirror!);
    const answered: string[] = [];
    mirror!.step = (async (name, input, ...rest) => {
      const lost = await step(name, input, ...rest);
      if (!/read|settle|merge/.test(name)) return lost;
      const { requests } = simulator.admin.stats();
      expect(await step(name, input, 2)).toEqual(lost);
      expect(simulator.admin.stats().requests).toBe(requests);
      answered.push(name.replace('worktrack.', ''));
      return lost;
    }) as typeof step;
    simulator.admin.remove('tasks', [ids[7]!]);
    simulator.admin.update('tasks', ids[8]!, { name: 'after' });
    mirror!.clock += 60_000;
    const { counts } = await mirror!.run({ inMemory: false, reconcile: true, full: true });
    expect(counts).toMatchObject({ rows: 30, updated: 1, deleted: 1 });
    // The service has no endpoint by id, so a second pass follows.
    expect(answered.join(' ')).toBe('read read settle settleById read read settle mergePlan merge');
  });

  it('is in memory in a rollback and in the full read after it', async () => {
    const { simulator } = await start('pageSize: 100');
    const id = simulator.admin.create('tasks', { name: 'before' });
    const { runId: first } = await mirror!.run();
    simulator.admin.update('tasks', id, { name: 'after' });
    mirror!.clock += 60_000;
    expect((await mirror!.run()).counts.updated).toBe(1);
    const back = await mirror!.rollBack(first);
    expect(back.inMemory).toBe(true);
    expect((await readSnapshot(mirror!.store, 'tasks')).rows[0]!.name).toBe('before');
    mirror!.clock += 60_000;
    expect((await mirror!.run()).inMemory).toBe(true);
    await expectService(mirror!);
  });
});
