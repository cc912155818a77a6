import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';

const CONNECT = '../../../src/temporal/client/connect.js';

let temporal: TemporalClient;
let openStatus: typeof import('../../../src/cli/inspect/read-status.js').openStatus;
let output: typeof import('../../../src/cli/shared/output.js').output;
let runSchedule: typeof import('../../../src/cli/triggers/schedule-command.js').runSchedule;
let checkTemporal: typeof import('../../../src/doctor/check-temporal.js').checkTemporal;

// Other files of this process have loaded the modules with the real connection, and need it again.
beforeAll(async () => {
  const original = await vi.importActual<typeof import('../../../src/temporal/client/connect.js')>(CONNECT);
  vi.doMock(CONNECT, () => ({ ...original, connectTemporal: async () => temporal }));
  vi.resetModules();
  ({ openStatus } = await import('../../../src/cli/inspect/read-status.js'));
  ({ output } = await import('../../../src/cli/shared/output.js'));
  ({ runSchedule } = await import('../../../src/cli/triggers/schedule-command.js'));
  ({ checkTemporal } = await import('../../../src/doctor/check-temporal.js'));
});
afterAll(() => {
  vi.doUnmock(CONNECT);
  vi.resetModules();
});

const UNAVAILABLE = Object.assign(new Error('14'), { code: 14, details: 'no history host' });
const CONNECTIONS = ['acme', 'globex', 'initech'];

/** A server without workers, with a Schedule of each connection. @param list answers the lists of workflows */
function serverWith(list: (query: string) => Promise<object>) {
  const lists: string[] = [];
  const client = {
    options: { namespace: 'default' },
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: {
      getHandle: () => ({
        describe: async () => ({
          ...{ runId: 'run', status: { name: 'RUNNING' } },
          raw: {
            workflowExecutionInfo: {
              versioningInfo: { behavior: 1, deploymentVersion: { deploymentName: 'd', buildId: 'lost' } },
            },
          },
        }),
      }),
    },
    schedule: {
      getHandle: () => ({
        describe: async () => ({
          ...{ spec: { calendars: [] }, state: { paused: false } },
          info: { recentActions: [], nextActionTimes: [], numActionsSkippedOverlap: 0 },
        }),
      }),
    },
    workflowService: {
      async listWorkflowExecutions({ query }: { readonly query: string }) {
        // Apart from the search for workers of other task queues.
        if (!query.includes('Pinned')) return { executions: [] };
        lists.push(query);
        return list(query);
      },
      describeTaskQueue: async () => ({ pollers: [] }),
      getSystemInfo: async () => ({ serverVersion: '1.29.1' }),
      describeNamespace: async () => ({}),
    },
  };
  const fake = { client, namespace: 'default', address: 'temporal:7233', close: async () => {} };
  temporal = fake as unknown as TemporalClient;
  return { lists };
}

const waitingRun = async () => ({
  executions: [{ execution: { workflowId: 'worktrack/globex/export' } }],
  nextPageToken: new Uint8Array(),
});
const fails = () => Promise.reject(UNAVAILABLE);

/** The exit code of `schedule describe --all`, and all that it prints. */
async function describeAll() {
  const file = join(mkdtempSync(join(tmpdir(), 'waiting-runs-')), 'worktrack.yaml');
  const connection =
    '{ baseUrl: "http://localhost:1", apiKey: { env: HOME }, lake: { url: "file:///tmp/none/NAME" } }';
  const lines = CONNECTIONS.map((name) => `  ${name}: ${connection.replace('NAME', name)}\n`);
  writeFileSync(file, `connections:\n${lines.join('')}`);
  const printed: string[] = [];
  vi.spyOn(output, 'out').mockImplementation((line) => void printed.push(line));
  vi.spyOn(output, 'note').mockImplementation((line) => void printed.push(line));
  const code = await runSchedule('describe', { config: file, all: true });
  return { code, printed };
}

describe('runs that wait for lost builds', () => {
  afterEach(() => vi.restoreAllMocks());

  it('are read once by `schedule describe` for all connections', async () => {
    const { lists } = serverWith(waitingRun);
    const { code, printed } = await describeAll();
    expect([code, lists.length]).toEqual([0, 1]);
    expect(printed.filter((line) => line.includes('starts no other run'))).toEqual([
      expect.stringMatching(/^globex: Warning: /),
    ]);
  });

  it('do not keep `schedule describe` from describing if they cannot be listed', async () => {
    serverWith(fails);
    const { code, printed } = await describeAll();
    expect(code).toBe(0);
    expect(printed.filter((line) => line.includes('Warning'))).toEqual([
      'acme, globex, initech: Warning: it is not known whether runs wait for builds without workers: no history host',
    ]);
  });

  it('are unknown to `status` if they cannot be listed', async () => {
    serverWith(fails);
    const unknown: unknown[] = [];
    await openStatus(temporal, 'worktrack.yaml', CONNECTIONS, 1, (error) => unknown.push(error));
    expect(unknown).toEqual([UNAVAILABLE]);
  });

  it.each([
    ['does not answer in time', () => new Promise<never>(() => {}), 'no response within 0.1 s'],
    ['answers with an error', fails, 'no history host'],
  ] as const)('are unknown to `doctor` if the server %s', async (_, list, why) => {
    serverWith(list);
    const place = { address: 'temporal:7233', namespace: 'default', taskQueue: 'worktrack' };
    const describe = () => ({ message: '', remedy: '' });
    const findings = await checkTemporal({ ...place, describe }, [], 100);
    expect(findings.filter(({ check }) => check === 'waiting run')).toMatchObject([
      {
        state: 'warning',
        message: `it is not known whether runs wait for builds without workers: ${why}`,
      },
    ]);
  });

  it('are none for a server that cannot list them', async () => {
    serverWith(() =>
      Promise.reject(Object.assign(new Error('3'), { code: 3, details: 'no such attribute' })),
    );
    const { code, printed } = await describeAll();
    expect([code, printed.filter((line) => line.includes('Warning'))]).toEqual([0, []]);
  });
});
