import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { PhaseRef } from '../../../src/core/contract/index.js';
import { haveSameRequest } from '../../../src/core/run-id.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { JOURNAL_LAYOUT } from '../../../src/run/staged-documents.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { isStaged, readSnapshot } from '../../support/snapshot.js';

type Changed = (text: string) => string;

const toLayout =
  (layout: number): Changed =>
  (text) =>
    JSON.stringify({ ...(JSON.parse(text) as object), layout });

const OTHER: Readonly<Record<string, Changed>> = {
  'of the next layout': toLayout(JOURNAL_LAYOUT + 1),
  'of two layouts before': toLayout(JOURNAL_LAYOUT - 2),
  '{}': () => '{}',
  'cut in the middle': (text) => text.slice(0, text.length / 2),
  'without fields': (text) => JSON.stringify({ ...(JSON.parse(text) as object), document: {} }),
};

describe('a run that continues on a worker of another build', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  /** A mirror with a published run, and a change and a delete since. @param act is done before each step */
  async function start(act: (name: string, input: object) => Promise<void> | void = () => {}): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 12 } },
      ...{ resource: 'tasks', yaml: '{ name: tasks, fetchById: true }' },
      connection: '    sync: { pageSize: 5 }\n',
    });
    await mirror.run();
    mirror.clock += 3_600_000;
    const { admin } = mirror.simulator;
    const [gone, changed] = admin.records('tasks').map(idOf) as [string, string];
    admin.remove('tasks', [gone]);
    admin.update('tasks', changed, { title: 'changed since' });
    const step = mirror.step.bind(mirror);
    mirror.step = (async (name, input, ...rest) => {
      await act(name, input);
      return step(name, input, ...rest);
    }) as typeof step;
  }

  async function staged(runId = ''): Promise<ObjectKey[]> {
    const keys: ObjectKey[] = [];
    for await (const { key } of mirror.store.list(`_staging/tasks/${runId}`))
      if (isStaged(key)) keys.push(key);
    return keys;
  }

  interface HandOver {
    /** Another build takes over when this step begins. */
    readonly at: string;
    /** The documents that are its own. */
    readonly names?: RegExp;
    readonly change: Changed;
    /** How often it takes over. */
    readonly times?: number;
  }

  /** @returns the ids of the runs, and the documents that were changed */
  async function handedOver({ at, names = /\/(?!_)[^/]*\.json$/, change, times = 1 }: HandOver) {
    const [runs, found]: [RunId[], ObjectKey[]] = [[], []];
    let left = times;
    await start(async (name, input) => {
      if (name === 'worktrack.run') runs.push((input as { runId: RunId }).runId);
      // The first call of a reading ends after a page.
      mirror.draining = name === 'worktrack.read' && (input as { step: number }).step === 0;
      if (name !== at || left-- <= 0) return;
      for (const key of (await staged()).filter((one) => names.test(one))) {
        found.push(key);
        await mirror.store.write(key, Buffer.from(change((await mirror.store.read(key)).toString())));
      }
    });
    return { runs, found };
  }

  async function expectPublished(): Promise<void> {
    const { rows } = await readSnapshot(mirror.store, 'tasks');
    const live = rows.filter((row) => row._deleted_at === null).map(({ id }) => id);
    expect(live.sort()).toEqual(mirror.simulator.admin.records('tasks').map(idOf).sort());
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
    expect(await staged()).toEqual([]);
  }

  const run = () => mirror.run({ inMemory: false, reconcile: true });

  it('continues where it was, if the layout is the one before', async () => {
    const change = toLayout(JOURNAL_LAYOUT - 1);
    const { runs, found } = await handedOver({ at: 'worktrack.settle', change });
    const { warnings, runId, counts } = await run();
    expect(found.filter((key) => key.includes('/stage-')).length).toBeGreaterThan(1);
    expect({ runs, deleted: counts.deleted }).toEqual({ runs: [runId], deleted: 1 });
    expect(warnings.join()).not.toContain('not continued');
    await expectPublished();
  });

  it.each(Object.keys(OTHER))('begins again, once, and says so, if documents are %s', async (what) => {
    const { runs, found } = await handedOver({ at: 'worktrack.settle', change: OTHER[what]! });
    const { warnings, runId } = await run();
    expect(found.length).toBeGreaterThan(1);
    expect(runs).toEqual([runs[0], runId]);
    expect(haveSameRequest(runs[0]!, runId)).toBe(true);
    expect(warnings.join()).toContain(
      `not continued: run ${runs[0]} could not be continued, because _staging/`,
    );
    await expectPublished();
  });

  it.each([
    ['worktrack.settle', /run\.json$/],
    ['worktrack.settle', /stage-/],
    ['worktrack.settleById', /run\.json$/],
    ['worktrack.mergePlan', /stage-/],
    ['worktrack.merge', /run\.json$/],
    ['worktrack.publish', /run\.json$/],
    ['worktrack.publish', /merged-/],
    ['worktrack.publish', /stage-/],
  ])('begins again when %s cannot read a document like %s', async (at, names) => {
    const { runs, found } = await handedOver({ at, names, change: toLayout(JOURNAL_LAYOUT + 1) });
    const { warnings, runId } = await run();
    expect(found).not.toEqual([]);
    expect(runs).toEqual([runs[0], runId]);
    expect(warnings.join()).toContain(`has layout ${JOURNAL_LAYOUT + 1}`);
    await expectPublished();
  });

  it('fails if it cannot be continued a second time, and the next run begins afresh', async () => {
    const change = toLayout(JOURNAL_LAYOUT + 1);
    const { runs } = await handedOver({ at: 'worktrack.settle', names: /run\.json$/, change, times: 2 });
    await expect(run()).rejects.toThrow(`run.json has layout ${JOURNAL_LAYOUT + 1} of a run`);
    expect(runs).toHaveLength(2);
    const { warnings } = await run();
    expect(warnings.join()).toContain(`not continued: run ${runs[1]} could not be continued`);
    await expectPublished();
  });

  it('takes over no pages of a failed run that it cannot read', async () => {
    await start();
    await mirror.abandon();
    for (const key of (await staged()).filter((one) => one.includes('/stage-')))
      await mirror.store.write(key, Buffer.from('{}'));
    const failed = mirror.newestId!;
    const { warnings } = await run();
    expect(mirror.resumed).toBe(0);
    expect(warnings.join()).toContain(`not continued: run ${failed} could not be continued`);
    await expectPublished();
  });

  it('begins on top of what it has published, if only the answer to its swap was lost', async () => {
    let isSent = false;
    await start(async (name, input) => {
      if (name !== 'worktrack.publish' || isSent) return;
      isSent = true;
      const { runId } = input as { runId: RunId };
      await mirror.step('worktrack.publish', input as PhaseRef);
      // The next attempt is of another build. The run has removed what it staged.
      await mirror.store.write(`_staging/tasks/${runId}/run.json` as ObjectKey, Buffer.from('{}'));
      published = runId;
    });
    let published: RunId | null = null;
    const { warnings } = await run();
    expect(warnings.join()).toContain(`not continued: run ${published} could not be continued`);
    expect((await mirror.current()).manifest.previousRunId).toBe(published);
    await expectPublished();
  });
});
