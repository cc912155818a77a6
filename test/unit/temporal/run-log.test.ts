import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { readTemporalRuns, readUnsuccessfulRuns } from '../../../src/temporal/status/run-log.js';

/** A server without exports, whose only mirror answers a query and a description as given. */
function server(query: () => unknown, describe: () => unknown): TemporalClient {
  const handle = { query: async () => query(), describe: async () => describe() };
  const client = {
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: { list: async function* () {}, getHandle: () => handle },
  };
  return { client } as unknown as TemporalClient;
}

const gone = () => {
  throw new WorkflowNotFoundError('not found', 'worktrack/acme/mirror/tasks', undefined);
};
const silent = () => {
  throw new Error('deadline exceeded');
};
const running = () => ({
  active: { runId: '20261121T020000Z-1a2b3c4d', mode: 'increment', startedAt: 1 },
  lastRun: null,
});

describe('the runs that Temporal knows', () => {
  it.each([
    ['complete', 'if there is no mirror', gone, gone, 0],
    ['complete', 'if the mirror and its step are known', running, () => ({ raw: {} }), 1],
    ['no-worker', 'if no worker answers for the mirror', silent, () => ({ raw: {} }), 0],
    ['no-worker', 'if the step of the running run cannot be read', running, silent, 0],
  ] as const)('are %s %s', async (coverage, _, query, describe, runs) => {
    const found = await readTemporalRuns(server(query, describe), 'acme', { resources: ['tasks'], limit: 5 });
    expect(found).toMatchObject({ coverage });
    expect(found.runs).toHaveLength(runs);
  });

  it('are unknown with the error of the server if their list or their mirror cannot be read', async () => {
    const down = Object.assign(new Error('down'), { code: 14, details: 'store operation failed' });
    const fails = () => {
      throw down;
    };
    const temporal = server(fails, fails);
    Object.assign(temporal.client.workflow, { list: fails });
    const unknown: unknown[] = [];
    const onUnknown = (error: unknown) => void unknown.push(error);
    const options = { resources: ['tasks'], limit: 5, onUnknown };
    const { coverage } = await readTemporalRuns(temporal, 'acme', options);
    expect([coverage, unknown]).toEqual(['no-temporal', [down, down]]);
    expect(await readUnsuccessfulRuns(temporal, 'acme', { onUnknown })).toEqual([]);
    expect(unknown).toEqual([down, down, down]);
  });
});
