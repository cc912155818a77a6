import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { JOURNAL_LAYOUT } from '../../../src/run/staged-documents.js';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { assertRowEquals } from '../../support/oracle.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** 80 pages. */
const ROWS = 1600;
const KEY = 'wt_a_key_that_will_be_revoked';

describe('the run after a failed run', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const pages = () => stack.simulator.admin.stats().byRoute['GET tasks'] ?? 0;

  /** A slow export whose key is revoked once it has staged pages. */
  async function refusedHalfWay(): Promise<void> {
    const { admin } = stack.simulator;
    const rule = admin.faults.add({ match: { resource: 'tasks' }, fault: { kind: 'latency', ms: 150 } });
    const failed = stack.export();
    await until(async () => {
      for await (const { key } of stack.store.list('_staging/tasks/'))
        if (key.includes('/stage-')) return true;
      return false;
    }, 'pages are staged');
    admin.keys.revoke('nightly');
    expect(await failed).toMatchObject({ outcome: 'refused' });
    admin.faults.remove(rule);
  }

  const start = () =>
    startStack({
      apiKey: KEY,
      simulator: {
        awkward: false,
        counts: { tasks: ROWS },
        keys: [{ key: KEY, name: 'nightly', organization: DEMO_ORGANIZATION, grants: ['*'] }],
      },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 20 }\n',
    });
  const repair = () =>
    stack.simulator.admin.keys.add({
      key: KEY,
      name: 'nightly',
      organization: DEMO_ORGANIZATION,
      grants: ['*'],
    });

  it('resumes from the staged pages once the key is valid again, and misses no change', async () => {
    stack = await start();
    await stack.startWorker();
    await refusedHalfWay();
    const readBefore = pages();
    const { admin } = stack.simulator;
    // One of these has already been read.
    admin.touch('tasks', { count: 3, pick: 'spread' });
    repair();
    const result = await stack.export();
    expect(result).toMatchObject({ outcome: 'published', runs: [{ rows: ROWS }] });
    const readAfter = pages() - readBefore;
    expect(readAfter).toBeLessThan(80);
    expect(readAfter + readBefore).toBeLessThan(80 + 10);
    const runId = result.runs[0]!.runId!;
    const first = await readSnapshot(stack.store, 'tasks');
    expect(new Set(first.rows.map((row) => row._run_id))).toEqual(new Set([runId]));
    expect((await stack.export()).outcome).toBe('published');
    const rows = new Map((await readSnapshot(stack.store, 'tasks')).rows.map((row) => [row.id, row]));
    for (const text of admin.records('tasks'))
      assertRowEquals(rows.get((JSON.parse(text) as { id: string }).id)!, text);
    for await (const { key } of stack.store.list('_staging/')) expect.unreachable(`${key} is still there`);
  });

  it('begins again if no worker can read what it has staged for long enough, and says so', async () => {
    stack = await startStack({
      ...{ simulator: { awkward: false, counts: { tasks: 300 } }, resources: '[tasks]' },
      yaml: '    sync: { pageSize: 5 }\n    retries: { giveUpAfter: 15s }\n',
    });
    const worker = await stack.startWorker();
    const { admin } = stack.simulator;
    const rule = admin.faults.add({ match: { resource: 'tasks' }, fault: { kind: 'latency', ms: 150 } });
    const ended = stack.export();
    const documents = async (): Promise<ObjectKey[]> => {
      const keys: ObjectKey[] = [];
      for await (const { key } of stack.store.list('_staging/tasks/'))
        if (/\/(run|stage-[^/]*)\.json$/.test(key)) keys.push(key);
      return keys;
    };
    await until(async () => (await documents()).length > 1, 'pages are staged');
    await worker.stop();
    admin.faults.remove(rule);
    const [first, ...others] = await documents();
    for (const key of [first!, ...others]) {
      const document = JSON.parse((await stack.store.read(key)).toString()) as object;
      await stack.store.write(key, Buffer.from(JSON.stringify({ ...document, layout: JOURNAL_LAYOUT + 1 })));
    }
    await stack.startWorker();
    const [run] = (await ended).runs;
    const failed = first!.split('/')[2];
    expect(run).toMatchObject({ outcome: 'published', rows: 300 });
    expect(run!.runId).not.toBe(failed);
    expect(run!.warnings.join()).toContain(`not continued: run ${failed} could not be continued`);
    expect(await documents()).toEqual([]);
  });

  it('rereads everything if the settings have changed', async () => {
    stack = await start();
    const worker = await stack.startWorker();
    await refusedHalfWay();
    await worker.stop();
    repair();
    const [connection] = stack.settings.connections;
    const [tasks] = connection!.resources;
    const changed = { ...tasks!, columns: { ...tasks!.columns, exclude: ['name'] } };
    await stack.startWorker({ ...stack.settings, connections: [{ ...connection!, resources: [changed] }] });
    const before = pages();
    expect((await stack.export()).outcome).toBe('published');
    expect(pages() - before).toBeGreaterThanOrEqual(80);
    expect((await readPointer(stack.store, 'tasks')).rows).toBe(ROWS);
  });
});
