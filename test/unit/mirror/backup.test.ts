import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { readSnapshot } from '../../support/snapshot.js';
import { newWriter } from '../../support/writer.js';

const DAY = 86_400_000;

describe('A backup of the lake', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function start(): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 20 } },
      resource: 'tasks',
      yaml: 'tasks',
    });
    await mirror.run();
    await work();
  }

  /** A day of changes, and the run after it. */
  async function work(): Promise<void> {
    change();
    await mirror.run();
  }

  function change(): void {
    const { admin } = mirror.simulator;
    mirror.clock += DAY;
    admin.advance(DAY);
    admin.update('tasks', idOf(admin.records('tasks')[3]!), { title: `Changed at ${admin.now()}` });
    admin.create('tasks', { title: 'New' });
  }

  const pathOf = (name: 'lake' | 'backup'): string => join(mirror.folder, name);

  /** Copies the files of the lake that are meant. */
  async function save(isMeant: (path: string) => boolean): Promise<void> {
    for (const path of await readdir(pathOf('lake'), { recursive: true })) {
      if (!isMeant(path) || !/\.\w+$/.test(path)) continue;
      const target = join(pathOf('backup'), path);
      await mkdir(dirname(target), { recursive: true });
      await cp(join(pathOf('lake'), path), target);
    }
  }

  const isPointer = (path: string): boolean => path.endsWith('latest.json');

  async function restore(): Promise<void> {
    await rm(pathOf('lake'), { recursive: true });
    await cp(pathOf('backup'), pathOf('lake'), { recursive: true });
  }

  async function expectCurrent(): Promise<void> {
    const { rows } = await readSnapshot(mirror.store, 'tasks');
    const records = mirror.simulator.admin.records('tasks');
    expect(rows.map(({ id }) => id)).toEqual(records.map(idOf));
    for (const [at, row] of rows.entries()) assertRowEquals(row, records[at]!);
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
  }

  function loseState(): void {
    mirror.writer = newWriter();
    Object.assign(mirror, { published: null, checkpoint: null });
  }

  it('is complete if the pointers are copied before everything else, although a run is published meanwhile', async () => {
    await start();
    await save(isPointer);
    await work();
    await save((path) => !isPointer(path));
    loseState();
    await restore();
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
    change();
    const { mode } = { ...(await mirror.run()), ...(await mirror.current()).manifest };
    expect(mode).toBe('increment');
    await expectCurrent();
  });

  it('stops a run if it is older than the state in Temporal, and --adopt continues from it', async () => {
    await start();
    await save(isPointer);
    await save((path) => !isPointer(path));
    await work();
    await restore();
    await expect(mirror.run()).rejects.toThrow(/--adopt/);
    await mirror.run({ adopt: true });
    await expectCurrent();
    await work();
    await expectCurrent();
  });

  it('continues without help if it is newer than the state in Temporal', async () => {
    await start();
    const { published, checkpoint, newestId } = mirror;
    await work();
    Object.assign(mirror, { published, checkpoint, newestId });
    await work();
    await expectCurrent();
  });

  it('is not needed after a loss of the state in Temporal: the next run continues from the lake', async () => {
    await start();
    loseState();
    await work();
    expect((await mirror.current()).manifest.mode).toBe('increment');
    await expectCurrent();
  });
});
