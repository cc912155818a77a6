import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { startTemporalDevServer } from '../../../src/servers/index.js';
import { connectTemporal, type TemporalClient } from '../../../src/temporal/client/connect.js';
import { awaitResult, endOf } from '../../../src/temporal/follow/follow-workflow.js';
import { until } from '../../support/stack.js';

/** More requests than Node allows listeners before it warns of a leak. */
const REQUESTS = 12;

describe('a wait of many requests for the end of a workflow', () => {
  const closing: (() => Promise<void>)[] = [];
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  afterEach(async () => {
    process.off('warning', onWarning);
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function start(): Promise<{ temporal: TemporalClient; workflowId: string }> {
    const server = await startTemporalDevServer({
      executable: inject('servers').temporalCli,
      headless: true,
      // Instead of twenty seconds.
      extraArgs: ['--dynamic-config-value', 'history.longPollExpirationInterval="200ms"'],
    });
    closing.push(() => server.stop());
    const temporal = await connectTemporal({ address: server.address });
    closing.push(() => temporal.close());
    const workflowId = 'waiting';
    await temporal.client.workflow.start('anyWorkflow', { workflowId, taskQueue: 'unserved' });
    return { temporal, workflowId };
  }

  it.each([
    [
      'awaitResult',
      (temporal: TemporalClient, id: string, signal: AbortSignal) =>
        awaitResult(temporal, id, { signal }, () => 'it has failed').catch(() => 'stopped'),
    ],
    ['endOf', endOf],
  ])('leaves no warning of a leak (%s)', async (_, waitFor) => {
    const { temporal, workflowId } = await start();
    process.on('warning', onWarning);
    const requests = vi.spyOn(temporal.client.workflowService, 'getWorkflowExecutionHistory');
    const stop = new AbortController();
    const waiting = waitFor(temporal, workflowId, stop.signal);
    await until(() => requests.mock.calls.length > REQUESTS, 'many requests were made');
    await temporal.client.workflow.getHandle(workflowId).terminate('end of the test');
    await waiting;
    stop.abort();
    expect(warnings).not.toContain('MaxListenersExceededWarning');
  });
});
