import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startSimulator } from '../../../src/simulator/index.js';
import { type HeldAnswer, holdAnswer } from '../../support/hold.js';
import { runCommand } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';
import {
  cancelWriteBack,
  endLocks,
  fileIn,
  readReceipts,
  recordsOf,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

const RESOURCES = '[projects, tasks]';
/** The default of `http.concurrency`. */
const IN_FLIGHT = 8;
const COUNTS = { projects: 12, tasks: 40, 'time-entries': 0, 'calendar-entries': 0 };

describe('a connection that was renamed', () => {
  let before: Stack;
  let after: Stack;
  afterEach(async () => {
    await after?.stop();
    await before?.stop();
  });
  const run = (...args: string[]) =>
    runCommand(after, [...args, '--config', after.configFile, '--task-queue', after.taskQueue]);

  async function renamed(baseUrl?: string) {
    before = await startStack({
      simulator: { awkward: false, seed: 3, counts: COUNTS },
      resources: RESOURCES,
    });
    const worker = await before.startWorker();
    expect((await before.export()).outcome).toBe('published');
    after = await startStack({
      beside: before,
      connection: `${before.connection}-renamed`,
      resources: RESOURCES,
      baseUrl: baseUrl ?? before.simulator.url,
    });
    return worker;
  }

  it('says in one line to whom the lake belongs, and takes it over with --adopt', async () => {
    const worker = await renamed();
    await worker.stop();
    await after.startWorker();
    const [old, name] = [before.connection, after.connection];
    const refused = await after.export();
    expect(refused.outcome).toBe('failed');
    for (const { error } of refused.runs) {
      expect(error).toMatchObject({ type: 'Displaced' });
      expect(error!.message).toContain(`If you have renamed "${old}" to "${name}", take over with`);
    }

    const status = await run('status');
    // The command is as the user can type it.
    const text = status.stdout.replace(/`node \S+ export .*? --adopt`/, '`worktrack export --adopt`');
    expect(text.trimEnd().split('\n')).toEqual([
      `${name}: the lake belongs to connection "${old}" (${before.simulator.url}). This is connection "${name}" ` +
        `(${before.simulator.url}). If you have renamed "${old}" to "${name}", take over with ` +
        '`worktrack export --adopt`. Otherwise give each connection a separate lake URL.',
    ]);
    expect((await run('status', '--check')).code).toBe(1);
    const page = join(after.folder, 'report.html');
    expect((await run('report', '--out', page)).code).toBe(0);
    const html = await readFile(page, 'utf8');
    expect(html).toContain('owned by another writer');
    expect(html).not.toMatch(/\d fresh/);

    const adopted = await run('export', '--adopt');
    expect(adopted.code).toBe(0);
    expect(adopted.stdout + adopted.stderr).toContain(
      `renamed: the lake belonged to connection "${old}" and now belongs to "${name}"`,
    );
    expect(await readPointer(after.store, 'tasks')).toMatchObject({ connection: name, rows: COUNTS.tasks });
    // The next run is an increment without a warning.
    const next = await after.export();
    expect(next).toMatchObject({ outcome: 'published', runs: [{ warnings: [] }, { warnings: [] }] });
    const fresh = await run('status', '--json');
    expect(JSON.parse(fresh.stdout)).toMatchObject({ fresh: true });
    expect((await run('report', '--out', page)).code).toBe(0);
    expect(await readFile(page, 'utf8')).not.toContain('owned by another writer');
  });

  it('continues a batch with the keys that it began with', async () => {
    const worker = await renamed();
    const ROWS = 60;
    const file = await fileIn(before, timeEntriesCsv(ROWS));
    const { admin } = before.simulator;
    admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'latency', ms: 50 } });
    const source = { resource: 'time-entries', file, batchId: 'november' } as const;
    // Once some rows are written, the answers to all rows in flight are held until the batch has ended.
    let held: HeldAnswer | null = null;
    const isDue = (): boolean => {
      if (recordsOf(before, 'time-entries').length >= 5)
        held ??= holdAnswer(before.simulator, { method: 'POST' }, IN_FLIGHT);
      return held?.isThere() === true;
    };
    const cancelled = await cancelWriteBack(before, source, isDue, 'some rows are written');
    held!.release();
    expect(cancelled).toMatchObject({ outcome: 'cancelled', counts: { unknown: IN_FLIGHT } });
    expect(cancelled.counts.created).toBeLessThan(ROWS - IN_FLIGHT);
    await endLocks(before);
    await worker.stop();
    admin.faults.clear();
    await after.startWorker();
    const result = await writeBack(after, source);
    expect(result.counts).toMatchObject({ created: ROWS });
    expect(recordsOf(before, 'time-entries')).toHaveLength(ROWS);
    const keys = (await readReceipts(after, 'november')).map((receipt) => receipt.idempotency_key);
    expect(new Set(keys).size).toBe(ROWS);
    const begun = (await readReceipts(before, 'november')).map((receipt) => receipt.idempotency_key);
    expect(keys).toEqual(begun);
    await endLocks(after);
  });

  // `moved` has the same for an address.
  longOnly('is rejected, even with --adopt, if its service knows none of the projects', async () => {
    const worker = await renamed();
    await worker.stop();
    const other = await startSimulator({ awkward: false, seed: 4, counts: COUNTS });
    after.beforeStop(() => other.close());
    const pointer = await readPointer(before.store, 'tasks');
    const settings = {
      ...after.settings,
      connections: after.settings.connections.map((one) => ({ ...one, baseUrl: other.url })),
    };
    await after.startWorker(settings);
    const adopted = await after.export({ adopt: true });
    expect(adopted.outcome).toBe('refused');
    expect(adopted.runs[1]!.error!.message).toContain('knows none of');
    expect(await readPointer(before.store, 'tasks')).toEqual(pointer);
  });
});
