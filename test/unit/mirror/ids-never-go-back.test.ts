import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { newRunId } from '../../../src/core/run-id.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('Ids of runs and purges never go back', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function start(): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 6 } },
      resource: 'tasks',
      yaml: 'tasks',
    });
  }

  async function objectsWith(text: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of mirror.store.list('')) {
      const body = await mirror.store.read(key);
      if ((key.endsWith('.gz') ? gunzipSync(body) : body).toString('utf8').includes(text)) found.push(key);
    }
    return found;
  }

  async function objects(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of mirror.store.list('tasks/')) found.push(key);
    return found;
  }

  it('Ids of runs and purges never go back after a run while the clock was ahead, so that change logs sort in the order of publishing', async () => {
    await start();
    const { admin } = mirror.simulator;
    const id = admin.records('tasks').map(idOf)[0]!;
    const { runId: first } = await mirror.run();
    const runs = [first];
    for (const ms of [HOUR, 60_000 - HOUR, 60_000]) {
      mirror.clock += ms;
      admin.update('tasks', id, { title: `changed ${ms}` });
      runs.push((await mirror.run()).runId);
    }
    runs.push((await mirror.rollBack(first)).runId);
    expect([...runs].sort()).toEqual(runs);
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
  });

  it.each(['the head', 'an earlier run'])('let a purge reach %s of a clock that was ahead', async (which) => {
    await start();
    const { admin } = mirror.simulator;
    await mirror.run();
    mirror.clock += HOUR;
    const secret = admin.create('tasks', { title: 'secret value' });
    await mirror.run();
    mirror.clock += 60_000 - HOUR;
    if (which === 'an earlier run') {
      admin.update('tasks', admin.records('tasks').map(idOf)[0]!, { title: 'changed' });
      await mirror.run();
    }
    admin.remove('tasks', [secret]);
    await mirror.purge(secret);
    expect(await objectsWith('secret value')).toEqual([]);
  });

  it('let a purge remove the parts that it replaces after a purge of a clock that was ahead', async () => {
    await start();
    const { admin } = mirror.simulator;
    const one = admin.create('tasks', { title: 'first secret' });
    const two = admin.create('tasks', { title: 'second secret' });
    await mirror.run();
    admin.remove('tasks', [one, two]);
    mirror.clock += HOUR;
    await mirror.purge(one);
    mirror.clock += 60_000 - HOUR;
    await mirror.purge(two);
    expect(await objectsWith('second secret')).toEqual([]);
  });

  it('let a purge remove the record even from complete folders of runs with a later id', async () => {
    await start();
    const { admin } = mirror.simulator;
    const secret = admin.create('tasks', { title: 'secret value' });
    await mirror.run();
    // A run of another mirror, whose clock is ahead: its swap is rejected because of the purge.
    const pointer = await mirror.store.read(pointerKey('tasks'));
    const { clock, newestId } = mirror;
    admin.update('tasks', secret, { title: 'secret value, changed' });
    mirror.clock += HOUR;
    const { publish } = await mirror.merged();
    await publish();
    await mirror.store.write(pointerKey('tasks'), pointer);
    Object.assign(mirror, { clock, newestId });
    admin.remove('tasks', [secret]);
    await mirror.purge(secret);
    expect((await objectsWith('secret value')).filter((key) => !key.startsWith('_staging/'))).toEqual([]);
  });

  // The mirror was reset to an earlier point, Temporal's database was restored, or the clock of another Temporal is behind.
  it.each(['of the head', 'of an earlier run', 'before the head', 'of a purge'])(
    'Ids of runs and purges never go back because a run with the id %s is refused, and leaves what is published',
    async (which) => {
      await start();
      const { admin } = mirror.simulator;
      const id = admin.records('tasks').map(idOf)[0]!;
      const gone = admin.create('tasks', { title: 'gone' });
      const runs: RunId[] = [];
      for (const title of ['one', 'two', 'three']) {
        admin.update('tasks', id, { title });
        runs.push((await mirror.run()).runId);
        mirror.clock += DAY;
      }
      admin.remove('tasks', [gone]);
      if (which === 'of a purge') await mirror.purge(gone);
      const { runId: head, amendedBy } = await readPointer(mirror.store, 'tasks');
      const taken: Record<string, RunId> = {
        'of the head': head,
        'of an earlier run': runs[1]!,
        'before the head': newRunId(mirror.clock - 5 * DAY, null, '00000000'),
        'of a purge': amendedBy ?? head,
      };
      const before = await objects();
      admin.update('tasks', id, { title: 'four' });
      const newerId = amendedBy ?? head;
      mirror.nextId = taken[which]!;
      await expect(mirror.run({ reconcile: true })).rejects.toMatchObject({
        type: 'Transient',
        nonRetryable: true,
        details: [{ newerId }],
      });
      expect(await objects()).toEqual(before);
      mirror.nextId = taken[which]!;
      // A purge that repeats its own id is an attempt of it.
      if (which !== 'of a purge')
        await expect(mirror.purge(gone)).rejects.toMatchObject({ details: [{ newerId }] });
      mirror.nextId = null;
      await mirror.run();
      const chain: RunId[] = [];
      for await (const { runId } of readChain(mirror.store, await readPointer(mirror.store, 'tasks')))
        chain.push(runId);
      expect(chain.slice(1).reverse()).toEqual(runs);
      expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
      expect((await readSnapshot(mirror.store, 'tasks')).rows.find((row) => row.id === id)?.title).toBe(
        'four',
      );
    },
  );
});
