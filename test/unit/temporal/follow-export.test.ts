import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it, vi } from 'vitest';
import type { ExportResult } from '../../../src/core/contract/index.js';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/duration.js';
import { OutOfReachError } from '../../../src/core/reachability.js';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { type ExportView, followExport } from '../../../src/temporal/follow/follow-export.js';

const RESULT: ExportResult = { outcome: 'published', runs: [] };
const OUTAGE = Object.assign(new Error('no connection'), {
  code: 14,
  details: 'no connection',
  metadata: {},
});

/** A client with only the calls that a test expects; any other call fails the test. */
function clientWith(
  calls: { describe?: () => unknown; result: () => unknown; query?: () => unknown },
  workflowService: object = {},
) {
  const handle = { describe: async () => ({}), ...calls };
  const direct = (_: unknown, call: () => unknown) => call();
  const connection = { withDeadline: direct, withAbortSignal: direct };
  const workflow = { getHandle: () => handle };
  return {
    client: { connection, workflow, workflowService },
    address: 'temporal:7233',
  } as unknown as TemporalClient;
}

const fail = (error: Error) => async () => {
  throw error;
};
const failed = (cause: Error) => fail(new WorkflowFailedError('failed', cause, 'NON_RETRYABLE_FAILURE'));

describe('following an export without a view', () => {
  it('waits for the result and queries no workflow', async () => {
    expect(await followExport(clientWith({ result: async () => RESULT }), 'export')).toEqual(RESULT);
  });

  it('takes outages as separate if the server answered between them', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const broken = [50 * SECOND_MS, 50 * SECOND_MS];
    const result = async () => {
      const after = broken.shift();
      if (after === undefined) return RESULT;
      now += after;
      throw OUTAGE;
    };
    const following = followExport(clientWith({ result }), 'export', { timeoutMs: MINUTE_MS, everyMs: 1 });
    expect(await following).toEqual(RESULT);
  });

  it('gives up when the server has not answered for the time limit', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const describe = async () => {
      now += 50 * SECOND_MS;
      throw OUTAGE;
    };
    const following = followExport(clientWith({ describe, result: fail(OUTAGE) }), 'export', { everyMs: 1 });
    await expect(following).rejects.toThrow(OutOfReachError);
  });

  it('takes the result of a failed export from its failure', async () => {
    const result: ExportResult = { outcome: 'refused', runs: [] };
    const details = [result];
    const cause = ApplicationFailure.create({ type: 'ExportFailed', message: 'refused', details });
    const query = async () => null;
    expect(await followExport(clientWith({ result: failed(cause), query }), 'export')).toEqual(result);
  });

  it('asks a cancelled export once which resources it had published', async () => {
    const report = { resource: 'tasks', outcome: 'published' };
    const query = vi.fn(async () => ({ connection: 'acme', runs: [{ resource: 'tasks', report }] }));
    const cancelled = clientWith({ result: failed(new CancelledFailure('cancelled')), query });
    expect(await followExport(cancelled, 'export')).toMatchObject({ outcome: 'cancelled', runs: [report] });
    expect(query).toHaveBeenCalledOnce();
  });

  it('names the expected resources of a cancelled export whose workers do not answer', async () => {
    const query = fail(OUTAGE);
    const cancelled = clientWith({ result: failed(new CancelledFailure('cancelled')), query });
    expect(await followExport(cancelled, 'export', { resources: ['tasks'] })).toMatchObject({
      runs: [{ resource: 'tasks', outcome: 'cancelled' }],
    });
  });
});

describe('following an export with a view', () => {
  it('notices the end immediately', async () => {
    let end: (result: ExportResult) => void = () => {};
    const ended = new Promise<ExportResult>((resolve) => {
      end = resolve;
    });
    let name = 'RUNNING';
    const describe = async () => ({ taskQueue: 'worktrack', status: { name } });
    const query = async () => ({ connection: 'acme', runs: [] });
    const views: ExportView[] = [];
    const onView = (view: ExportView) => {
      views.push(view);
      name = 'COMPLETED';
      end(RESULT);
    };
    const client = clientWith({ describe, query, result: () => ended });
    // Longer than the time limit of the test.
    const options = { onView, everyMs: HOUR_MS, resources: ['tasks'] };
    expect(await followExport(client, 'export', options)).toEqual(RESULT);
    expect(views[0]).toMatchObject({ worker: 'present' });
  });

  it('gives a worker that has just started time to answer', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    let polls = false;
    const pollers = () =>
      polls ? [{ identity: '7@host', lastAccessTime: { seconds: Date.now() / 1_000, nanos: 0 } }] : [];
    const service = { describeTaskQueue: async () => ({ pollers: pollers() }) };
    let name = 'RUNNING';
    const describe = async () => ({
      workflowId: 'export',
      taskQueue: 'worktrack',
      status: { name },
      raw: {},
    });
    const kinds: unknown[] = [];
    const onView = ({ worker }: ExportView) => {
      kinds.push(typeof worker === 'object' ? worker.kind : worker);
      // 30 s without a worker, then one that polls.
      polls = kinds.length > 1;
      now += ([30, 5, 8][kinds.length - 1] ?? 0) * SECOND_MS;
      if (kinds.length === 4) name = 'COMPLETED';
    };
    const result = () =>
      new Promise<ExportResult>((resolve) => {
        const look = () => (name === 'RUNNING' ? setTimeout(look, 1) : resolve(RESULT));
        look();
      });
    const client = clientWith({ describe, query: fail(OUTAGE), result }, service);
    await followExport(client, 'export', { onView, everyMs: 1, resources: ['tasks'] });
    expect(kinds.slice(0, 4)).toEqual(['no-worker', 'no-worker', 'no-worker', 'busy']);
  });
});
