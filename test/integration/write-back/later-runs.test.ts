import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey, UtcSeconds } from '../../../src/core/brands.js';
import type { Activities } from '../../../src/core/contract/index.js';
import {
  type ConfirmResult,
  confirmWorkflowId,
  noRows,
  type WriteBackInput,
  type WriteBackResult,
  writeBackWorkflowId,
} from '../../../src/core/contract/write-back.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/duration.js';
import { shippedBundle } from '../../../src/temporal/worker/bundle.js';
import { until } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

/** Rows that were found, but not one of them with its values. */
const COUNTS = { confirmed: 0, differs: 1, notSeen: 0, notListed: 0 };

/** The workflows alone, with activities that do nothing, in the time-skipping server. */
describe('a later run of a batch whose rows are looked for', () => {
  const taskQueue = `later-runs-${randomBytes(4).toString('hex')}`;
  let env: TestWorkflowEnvironment;
  let worker: Worker;
  let running: Promise<void>;
  /** When each look and each increment was, on Temporal's clock: milliseconds since 1970. */
  const looks: number[] = [];
  const increments: number[] = [];

  const activities: Partial<Activities> = {
    'worktrack.planWriteBack': async () => ({
      ...{ plan: 'plan' as ObjectKey, rows: 1, results: null, mirrored: true, alerts: false },
      giveUpAfterMs: 60_000,
      confirm: { forMs: DAY_MS, giveUpAfterMs: 60_000, alerts: false },
    }),
    'worktrack.sendRows': async () => ({ done: true, rows: 1, limitedSince: null }),
    'worktrack.writeResults': async () => ({
      ...{ results: 'results' as ObjectKey, counts: { ...noRows(), updated: 1 } },
      ...{ unsent: 0, refusals: null, sameId: 0 },
    }),
    'worktrack.confirmRows': async () => {
      looks.push(await env.currentTimeMs());
      return { counts: COUNTS, open: 1, since: '2026-11-20T08:00:00Z' as UtcSeconds };
    },
    'worktrack.run': async () => {
      increments.push(await env.currentTimeMs());
      throw ApplicationFailure.nonRetryable('the service is away', 'Transient');
    },
    'worktrack.sweepFailedRun': async () => {},
    'worktrack.reportAlerts': async () => {},
  };
  const input: WriteBackInput = {
    ...{ connection: 'acme', resource: 'calendar-entries', batchId: 'one', readBack: true },
    ...{ input: 'input' as ObjectKey, format: 'csv', keyColumn: null },
  };

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    worker = await Worker.create({
      ...{ connection: env.nativeConnection, taskQueue, workflowBundle: shippedBundle() },
      activities: { ...activities },
    });
    running = worker.run();
  });
  afterAll(async () => {
    worker?.shutdown();
    await running;
    await env?.teardown();
  });

  it('is looked for immediately, and as often as a first run', async () => {
    // Not `env.client`: its result() lets time run.
    const { workflow } = new Client({ connection: env.connection });
    const write = async (): Promise<WriteBackResult> =>
      workflow.execute('writeBackWorkflow', {
        workflowId: writeBackWorkflowId(input),
        taskQueue,
        args: [input],
      });
    expect(await write()).toMatchObject({ outcome: 'written' });
    await until(() => looks.length === 1, 'the first look');
    const [first] = looks;
    await env.sleep('20 hours');
    expect(looks.length).toBe(4);
    expect(await write()).toMatchObject({ outcome: 'written' });
    await until(() => looks.length === 5, 'the look for the rows of the second run');
    const again = looks[4]!;
    await env.sleep('3 hours');
    expect(looks.length).toBe(7);
    await env.sleep('22 hours');
    const result = (await workflow.getHandle(confirmWorkflowId(input)).result()) as ConfirmResult;
    expect(result.counts).toEqual(COUNTS);
    const hours = (from: number, times: readonly number[]) =>
      times.map((at) => Math.round((at - from) / HOUR_MS));
    expect(hours(first!, looks.slice(0, 4))).toEqual([0, 1, 2, 3]);
    expect(hours(again, looks.slice(4))).toEqual([0, 1, 2, 24]);
    // A read-back of each run, and three for each.
    expect(increments.length).toBe(8);
  });
});
