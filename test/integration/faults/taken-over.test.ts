import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { parseRunDate } from '../../../src/core/run-id.js';
import { type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { expectMirrored, listedIds } from '../../support/mirrored.js';
import { quickRetries, shortenBackOffs } from '../../support/short-waits.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';

const DENIED = { kind: 'status', status: 403, code: 'AccessDenied' } as const;

shortenBackOffs();

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

/** An export that reads everything and then fails, because the store rejects the parts of the snapshot. */
async function failedAfterReading(): Promise<RunId> {
  const { stack, s3 } = faulty;
  s3.add({ method: 'PUT', path: /tasks\/snapshots\//, fault: DENIED });
  s3.add({ method: 'POST', path: /tasks\/snapshots\//, fault: DENIED });
  const [run] = (await stack.export({ resources: ['tasks'] })).runs;
  expect(run).toMatchObject({ outcome: 'failed', error: { type: 'Lake' } });
  s3.clear();
  return run!.runId!;
}

describe('a run that reuses the completed read of a failed run', () => {
  it('reads the changes since then, keeps the checkpoint of that read, and adds a warning', async () => {
    faulty = await startFaultyStack();
    const { stack } = faulty;
    await stack.startWorker(undefined, quickRetries);
    const { admin } = stack.simulator;
    const failed = await failedAfterReading();
    const readBefore = admin.stats().byRoute['GET tasks']!;
    const created = admin.create('tasks', { name: 'after the read' });
    admin.touch('tasks', { ids: listedIds(stack, 'tasks').slice(0, 3) });

    const [run] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(run).toMatchObject({ outcome: 'published', counts: { rows: 121 } });
    expect(admin.stats().byRoute['GET tasks']! - readBefore).toBe(1);
    await expectMirrored(stack, 'tasks');
    expect((await readSnapshot(stack.store, 'tasks')).rows.map((row) => row.id)).toContain(created);
    expect(run!.warnings).toContainEqual(
      expect.stringContaining(`resumed: this run reused pages of failed run ${failed}`),
    );
    const { checkpoint } = await readPointer(stack.store, 'tasks');
    // Run ids begin with the second when the run began.
    expect(Date.parse(checkpoint.updatedSince)).toBe(parseRunDate(failed) - 5 * 60_000);
    const [next] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(next!.warnings.join()).not.toContain('resumed');
  });

  it('does the same for an increment', async () => {
    faulty = await startFaultyStack();
    const { stack } = faulty;
    await stack.startWorker(undefined, quickRetries);
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    const { admin } = stack.simulator;
    const ids = listedIds(stack, 'tasks');
    admin.touch('tasks', { ids: ids.slice(0, 5) });
    await failedAfterReading();
    admin.touch('tasks', { ids: ids.slice(50, 53) });
    const [run] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(run).toMatchObject({ outcome: 'published', counts: { updated: 8 } });
    await expectMirrored(stack, 'tasks');
  });
});

describe('a run that cannot begin because the store is down', () => {
  it('gives up after giveUpAfter', async () => {
    faulty = await startFaultyStack('    retries: { giveUpAfter: 2s }\n');
    const { stack, s3 } = faulty;
    await stack.startWorker(undefined, quickRetries);
    s3.add({ path: /tasks\/latest\.json/, fault: { kind: 'status', status: 503, code: 'SlowDown' } });
    const [run] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(run).toMatchObject({ outcome: 'failed', error: { type: 'Transient' } });
    expect(run!.error!.message).toContain('gave up');
  });
});
