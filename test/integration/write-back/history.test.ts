import { randomBytes } from 'node:crypto';
import { heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ObjectKey, UtcSeconds } from '../../../src/core/brands.js';
import {
  type Activities,
  mirrorWorkflowId,
  type ReportAlertsInput,
} from '../../../src/core/contract/index.js';
import {
  confirmWorkflowId,
  noRows,
  type WriteBackInput,
  writeBackLockId,
  writeBackWorkflowId,
} from '../../../src/core/contract/write-back.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { connectTemporal, type TemporalClient } from '../../../src/temporal/client/connect.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { shippedBundle } from '../../../src/temporal/worker/bundle.js';
import { historiesOf, signalsNamed } from '../../support/histories.js';
import { signalUntilNew } from '../../support/long-history.js';
import { longOnly } from '../../support/seeds.js';
import { until } from '../../support/stack.js';

/** Runs of a batch whose rows are looked for: more than a confirmation has increments. */
const RUNS = 5;

/** The workflows alone, with activities that do nothing, so that a batch of days takes seconds. */
describe('the histories of batches', () => {
  const id = randomBytes(4).toString('hex');
  const connection = `acme-${id}`;
  const taskQueue = `write-back-${id}`;
  let temporal: TemporalClient;
  let worker: Worker;
  let running: Promise<void>;
  /** Calls of `sendRows` until a batch is done, and how many there were. */
  let callsNeeded = 1;
  const calls = new Map<string, number>();
  const order: string[] = [];
  const reported: ReportAlertsInput[] = [];
  let looks = 0;
  /** Resolves once rows may be sent. */
  let mayWrite: Promise<void> = Promise.resolve();

  const activities: Partial<Activities> = {
    'worktrack.planWriteBack': async ({ batchId, skipUnchanged, increment }) => {
      const giveUpAfterMs = 600_000;
      if (skipUnchanged === true && increment === undefined) return { readFirst: true, giveUpAfterMs };
      return {
        plan: 'plan' as ObjectKey,
        rows: 1,
        results: null,
        mirrored: batchId === 'stopped',
        alerts: skipUnchanged === true,
        giveUpAfterMs,
        ...(['confirmed', 'stopped'].includes(batchId) && {
          confirm: { forMs: DAY_MS, giveUpAfterMs, alerts: false },
        }),
      };
    },
    'worktrack.claimRows': async () => 'turn' as ObjectKey,
    'worktrack.sendRows': async ({ batchId }) => {
      const beats = setInterval(() => heartbeat(), 1_000);
      await mayWrite;
      clearInterval(beats);
      if (batchId === 'stopped') throw ApplicationFailure.nonRetryable('no such path', 'Configuration');
      order.push(batchId);
      calls.set(batchId, (calls.get(batchId) ?? 0) + 1);
      return { done: calls.get(batchId)! >= callsNeeded, rows: 1, limitedSince: null };
    },
    'worktrack.writeResults': async () => ({
      results: 'results' as ObjectKey,
      counts: { ...noRows(), created: 1 },
      unsent: 0,
      refusals: null,
      sameId: 0,
    }),
    'worktrack.confirmRows': async () => ({
      counts: { confirmed: 0, differs: ++looks < RUNS ? 1 : 0, notSeen: 0, notListed: 0 },
      open: looks < RUNS ? 1 : 0,
      since: '2026-11-20T08:00:00Z' as UtcSeconds,
    }),
    'worktrack.run': async () => {
      throw ApplicationFailure.nonRetryable('the service is away', 'Transient');
    },
    'worktrack.sweepFailedRun': async () => {},
    'worktrack.reportAlerts': async (report) => void reported.push(report),
  };
  const input = (batchId: string): WriteBackInput => ({
    connection,
    resource: 'time-entries',
    batchId,
    input: 'input' as ObjectKey,
    format: 'csv',
    keyColumn: null,
  });
  const lock = writeBackLockId(connection, 'time-entries');
  const mirror = mirrorWorkflowId(connection, 'time-entries');

  beforeAll(async () => {
    const address = inject('servers').temporalAddress;
    temporal = await connectTemporal({ address });
    worker = await Worker.create({
      connection: await NativeConnection.connect({ address }),
      taskQueue,
      workflowBundle: shippedBundle(),
      activities: { ...activities },
      sinks: { worktrackMetrics: { record: { fn: () => {} } } },
    });
    running = worker.run();
  });
  beforeEach(() => {
    calls.clear();
    [order.length, reported.length, looks, callsNeeded] = [0, 0, 0, 1];
    mayWrite = Promise.resolve();
  });
  afterEach(async () => {
    for (const workflowId of [lock, mirror])
      await temporal.client.workflow
        .getHandle(workflowId)
        .terminate('end of the test')
        .catch(() => {});
  });
  afterAll(async () => {
    worker.shutdown();
    await running;
    await temporal.close();
  });

  /** Events of each run of a workflow. */
  async function events(workflowId: string): Promise<number[]> {
    return (await historiesOf(temporal.client, workflowId)).map(({ events: found }) => found!.length);
  }

  it('stay under 2,000 events however long a batch takes, which keeps its lock and what was read before its rows', async () => {
    callsNeeded = 180;
    const long = { ...input('long'), skipUnchanged: true };
    const { workflowId } = await startWriteBack(temporal, long, { taskQueue });
    const next = await startWriteBack(temporal, input('next'), { taskQueue });
    for (const one of [workflowId, next.workflowId]) {
      const result = await followWriteBack(temporal, one, { everyMs: 50 });
      expect(result).toMatchObject({ outcome: 'written', counts: { created: 1 } });
    }
    expect(calls.get('long')).toBe(180);
    // Which of the two came first is the server's business; but no other batch wrote in the middle of one.
    expect(order.filter((batchId, at) => at > 0 && order[at - 1] !== batchId).length).toBe(1);
    const lengths = await events(writeBackWorkflowId(input('long')));
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(2000);
    const { warnings } = await followWriteBack(temporal, workflowId, { everyMs: 50 });
    expect(warnings).toEqual([
      expect.stringMatching(/no row was left out as unchanged.*the service is away/),
    ]);
    expect(reported.map(({ runs }) => runs.map(({ outcome }) => outcome))).toEqual([['failed']]);
  });

  it('have one confirmation, which looks immediately for the rows of each later run', async () => {
    const batch = input('confirmed');
    const confirming = temporal.client.workflow.getHandle(confirmWorkflowId(batch));
    let first: string | undefined;
    for (let run = 1; run <= RUNS; run++) {
      const { workflowId } = await startWriteBack(temporal, batch, { taskQueue });
      expect((await followWriteBack(temporal, workflowId, { everyMs: 50 })).warnings).toEqual([]);
      await until(() => looks === run, `look ${run}`);
      first ??= (await confirming.describe()).runId;
    }
    expect(await confirming.result()).toMatchObject({ batchId: 'confirmed', counts: { differs: 0 } });
    expect((await confirming.describe()).runId).toBe(first);
  });

  it('read back and look for the rows of a batch that has failed', async () => {
    const batch = input('stopped');
    const before = looks;
    const { workflowId } = await startWriteBack(temporal, batch, { taskQueue });
    const result = await followWriteBack(temporal, workflowId, { everyMs: 50 });
    expect(result).toMatchObject({
      outcome: 'failed',
      counts: { created: 1 },
      error: { message: 'no such path' },
    });
    // The mirror was asked, and says why it could not.
    expect(result.warnings).toEqual([expect.stringMatching(/not in the lake yet.*the service is away/)]);
    await until(() => looks > before, 'the rows are looked for');
    const confirming = temporal.client.workflow.getHandle(confirmWorkflowId(batch));
    await confirming.terminate('end of the test').catch(() => {});
  });

  async function expectWritten(batches: readonly string[]): Promise<void> {
    for (const batchId of batches) {
      const handle = temporal.client.workflow.getHandle(writeBackWorkflowId(input(batchId)));
      expect(await handle.result()).toMatchObject({ outcome: 'written' });
    }
    expect(order.length).toBe(2 * batches.length);
    for (let at = 0; at < order.length; at += 2) expect(order[at]).toBe(order[at + 1]);
    const lengths = await events(lock);
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(2000);
  }

  it('stay under 2,000 events while batches wait for the lock, which stays with its batch', async () => {
    callsNeeded = 2;
    let allow = (): void => {};
    mayWrite = new Promise((resolve) => (allow = resolve));
    const batches = Array.from({ length: 12 }, (_, n) => `waiting-${n}`);
    for (const batchId of batches) await startWriteBack(temporal, input(batchId), { taskQueue });
    const handle = temporal.client.workflow.getHandle(lock);
    const requests = async () => signalsNamed('acquireLock', await handle.fetchHistory()).length;
    const isThere = () =>
      requests().then(
        (count) => count === batches.length,
        () => false,
      );
    await until(isThere, 'all have requested the lock');
    // Releases by batches that do not have the lock.
    await signalUntilNew(temporal.client, lock, ['releaseLock', 'none']);
    expect(order).toEqual([]);
    allow();
    await expectWritten(batches);
  });

  // The test above makes the same history longer by signals of the same kind.
  longOnly('stay under 2,000 events with any number of batches', async () => {
    callsNeeded = 2;
    const batches = Array.from({ length: 120 }, (_, n) => `batch-${n}`);
    for (const batchId of batches) await startWriteBack(temporal, input(batchId), { taskQueue });
    await expectWritten(batches);
  });
});
