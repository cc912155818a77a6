import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey, UtcSeconds } from '../../../src/core/brands.js';
import {
  type Activities,
  type MirrorRequest,
  mirrorWorkflowId,
  type ReportAlertsInput,
} from '../../../src/core/contract/index.js';
import {
  CONFIRM_WORKFLOW,
  type ConfirmedRows,
  type ConfirmInput,
  type ConfirmResult,
  noRows,
  type PlanWriteBackInput,
  WRITE_BACK_WORKFLOW,
  type WriteBackInput,
  writeBackWorkflowId,
} from '../../../src/core/contract/write-back.js';
import { shippedBundle } from '../../../src/temporal/worker/bundle.js';
import { until } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

const HOUR = 3_600_000;
const RESOURCE = 'time-entries';
const SINCE = '2026-11-20T08:00:00Z' as UtcSeconds;

/** What one look finds; `lake`: it fails. */
type Look = Pick<ConfirmedRows['counts'], 'confirmed' | 'differs'> | 'lake';

describe('the looks for the written rows of a batch, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  const workers: { readonly worker: Worker; readonly running: Promise<void> }[] = [];
  /** What the looks find, and when they were. */
  let finds: readonly Look[];
  let looks: number[];
  let reported: ReportAlertsInput[];
  let plans: PlanWriteBackInput[];

  const activities: Pick<
    Activities,
    'worktrack.confirmRows' | 'worktrack.planWriteBack' | 'worktrack.reportAlerts'
  > = {
    'worktrack.planWriteBack': async (input) => {
      plans.push(input);
      if (input.increment === undefined) return { readFirst: true, giveUpAfterMs: HOUR, waitMs: HOUR / 6 };
      const results = { results: 'r' as ObjectKey, counts: noRows(), unsent: 0, refusals: null, sameId: 0 };
      return { plan: 'p' as ObjectKey, rows: 0, results, mirrored: true, alerts: false, giveUpAfterMs: HOUR };
    },
    'worktrack.confirmRows': async () => {
      const found = finds[looks.push(await env.currentTimeMs()) - 1]!;
      if (found === 'lake') throw ApplicationFailure.nonRetryable('the lake is away', 'Lake');
      return { counts: { ...found, notSeen: 0, notListed: 0 }, open: found.differs, since: SINCE };
    },
    'worktrack.reportAlerts': async (input) => void reported.push(input),
  };

  async function startWorker(
    taskQueue: string,
    code: Pick<Parameters<typeof Worker.create>[0], 'workflowBundle' | 'workflowsPath' | 'activities'>,
  ): Promise<void> {
    const worker = await Worker.create({ connection: env.nativeConnection, taskQueue, ...code });
    workers.push({ worker, running: worker.run() });
  }

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    await startWorker('confirm', { workflowBundle: shippedBundle(), activities });
    for (const file of ['answering-mirror', 'waiting-workflow']) {
      const workflowsPath = fileURLToPath(new URL(`../../support/${file}.mjs`, import.meta.url));
      await startWorker(file, { workflowsPath });
    }
  });
  afterAll(async () => {
    for (const { worker } of workers) worker.shutdown();
    await Promise.all(workers.map(({ running }) => running));
    await env?.teardown();
  });

  /** Runs the workflow for a day, an hour at a time. @returns its result, the hours of its looks, and what it requested of the mirror */
  async function confirmed(connection: string, found: readonly Look[]) {
    [finds, looks, reported] = [found, [], []];
    // Not `env.client`: its result() lets time run.
    const { workflow } = new Client({ connection: env.connection });
    const mirror = await workflow.start('answering', {
      ...{ workflowId: mirrorWorkflowId(connection, RESOURCE), taskQueue: 'answering-mirror', args: [] },
    });
    const input: ConfirmInput = {
      ...{ connection, resource: RESOURCE, batchId: 'b', forMs: 24 * HOUR, giveUpAfterMs: HOUR },
      ...{ alerts: true, readFirst: true },
    };
    const confirming = await workflow.start(CONFIRM_WORKFLOW, {
      ...{ workflowId: `${connection}-confirm`, taskQueue: 'confirm', args: [input] },
    });
    for (const seen of found.keys()) {
      await until(() => looks.length > seen, `look ${seen + 1}`);
      if (seen + 1 < found.length) await env.sleep(seen < 3 ? '61 minutes' : '22 hours');
    }
    const result = (await confirming.result()) as ConfirmResult;
    await mirror.signal('end');
    const requests = (await mirror.result()) as MirrorRequest[];
    const hours = looks.map((at) => Math.round((at - looks[0]!) / HOUR));
    return { result, hours, since: requests.map((one) => (one as { since?: unknown }).since) };
  }

  it('are hourly after three increments from before the batch, and once more at the end', async () => {
    const rows = { confirmed: 1, differs: 4 };
    const { result, hours, since } = await confirmed('full', [rows, rows, rows, rows, rows]);
    expect(hours).toEqual([0, 1, 2, 3, 24]);
    expect(since).toEqual([null, SINCE, SINCE, SINCE]);
    const counts = { ...rows, notSeen: 0, notListed: 0 };
    expect(result).toEqual({ batchId: 'b', counts, warnings: [] });
    expect(reported.map(({ confirmation }) => confirmation)).toEqual([
      { resource: RESOURCE, batchId: 'b', ...counts },
    ]);
  });

  it('end as soon as each row is confirmed', async () => {
    const { result, hours, since } = await confirmed('short', [
      { confirmed: 1, differs: 1 },
      { confirmed: 2, differs: 0 },
    ]);
    expect([hours, since]).toEqual([
      [0, 1],
      [null, SINCE],
    ]);
    expect(result.counts.confirmed).toBe(2);
  });

  it('say what was found before if some of them fail', async () => {
    const { result, hours } = await confirmed('failing', [
      { confirmed: 1, differs: 4 },
      'lake',
      { confirmed: 3, differs: 2 },
      { confirmed: 3, differs: 2 },
      'lake',
    ]);
    expect(hours).toEqual([0, 1, 2, 3, 24]);
    const warning = 'a look for the rows failed: the lake is away';
    expect(result).toMatchObject({ counts: { confirmed: 3, differs: 2 }, warnings: [warning, warning] });
    expect(reported).toMatchObject([{ confirmation: { confirmed: 3, differs: 2 } }]);
  });

  it.each([
    [
      'written',
      {},
      'the batch cannot be undone, because the increment before it took longer than 10 minutes',
    ],
    [
      'undone',
      { expected: 'e' as ObjectKey },
      'the records were not compared again, because the increment before the undo took longer than 10 minutes',
    ],
  ])(
    'follow a batch that did not wait longer than 10 minutes for the increment before it: %s',
    async (connection, more, warning) => {
      const { workflow } = new Client({ connection: env.connection });
      const resource = 'calendar-entries';
      const mirror = await workflow.start('waiting', {
        ...{
          workflowId: mirrorWorkflowId(connection, resource),
          taskQueue: 'waiting-workflow',
          args: [[24 * HOUR]],
        },
      });
      const input: WriteBackInput = {
        ...{
          connection,
          resource,
          batchId: 'b',
          input: 'i' as ObjectKey,
          format: 'csv',
          keyColumn: null,
        },
        ...more,
      };
      plans = [];
      const batch = await workflow.start(WRITE_BACK_WORKFLOW, {
        ...{ workflowId: writeBackWorkflowId(input), taskQueue: 'confirm', args: [input] },
      });
      await until(async () => {
        const { events } = await workflow.getHandle(mirror.workflowId).fetchHistory();
        return events!.some((event) => event.workflowExecutionSignaledEventAttributes);
      }, 'a request');
      await env.sleep('11 minutes');
      expect(await batch.result()).toMatchObject({
        outcome: 'written',
        warnings: [warning],
      });
      expect(plans.map(({ increment }) => increment)).toEqual([undefined, 'failed']);
      await mirror.terminate();
    },
  );
});
