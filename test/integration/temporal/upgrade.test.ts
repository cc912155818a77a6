import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Stack, startStack, until } from '../../support/stack.js';

const ACTIVITIES = {
  count: (counted: number) => Promise.resolve(counted + 1),
  report: (reported: number) => Promise.resolve(reported + 1),
};

const build = (name: string): string =>
  fileURLToPath(new URL(`../../support/upgrade/${name}.mjs`, import.meta.url));

/** The way that a release stays compatible with the ones before it (docs/how-to/upgrade.md), by an example. */
describe('a workflow that an earlier release started', () => {
  let stack: Stack;
  let connection: NativeConnection;
  let started: WorkflowHandle;
  beforeAll(async () => {
    stack = await startStack({ simulator: { counts: {} } });
    connection = await NativeConnection.connect({ address: inject('servers').temporalAddress });
    started = await stack.temporal.client.workflow.start('countingWorkflow', {
      workflowId: `${stack.connection}-${randomBytes(4).toString('hex')}`,
      taskQueue: stack.taskQueue,
      args: [{ counted: 0, waiting: 0 }],
    });
    await during('0.2.0', () => counts(2));
  });
  afterAll(async () => {
    await started?.terminate('the test is over').catch(() => {});
    await connection?.close();
    await stack?.stop();
  });

  /** Does something while a worker of a release polls. */
  async function during(release: string, work: () => Promise<void>): Promise<void> {
    const { namespace } = stack.temporal;
    const worker = await Worker.create({
      ...{ connection, namespace, taskQueue: stack.taskQueue, activities: ACTIVITIES },
      workflowsPath: build(release),
    });
    await worker.runUntil(work);
  }

  /** Lets the workflow count, and waits until it has. */
  async function counts(more: number): Promise<void> {
    const before = await countedIn();
    for (let n = 0; n < more; n++) await started.signal('more');
    await until(async () => (await countedIn()) === before + more, 'it has counted');
  }

  /** How often it has begun to count. */
  async function countedIn(): Promise<number> {
    const { events } = await stack.history(started.workflowId);
    return (events ?? []).filter(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'count',
    ).length;
  }

  async function replayedBy(release: string): Promise<string | null> {
    try {
      await Worker.runReplayHistory({ workflowsPath: build(release) }, await started.fetchHistory());
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  it('replays with a later release only if its new step is behind a patch', async () => {
    expect(await replayedBy('0.2.0')).toBeNull();
    expect(await replayedBy('0.3.0')).toBeNull();
    expect(await replayedBy('0.3.0-unpatched')).toContain('Nondeterminism error');
  });

  it('continues on a worker of the later release, also with a state that lacks its new field', async () => {
    await during('0.3.0', async () => {
      await counts(2);
      const state = () => started.query<{ counted: number; reported: number }>('state');
      await until(async () => (await state()).counted === 4, 'its state has passed on');
      // The new step does not run for what the earlier release did.
      expect((await state()).reported).toBeLessThan(4);
      expect((await state()).reported).toBeGreaterThan(0);
    });
    expect(await replayedBy('0.3.0')).toBeNull();
  });
});
