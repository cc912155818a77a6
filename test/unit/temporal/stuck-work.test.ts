import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import {
  countPinned,
  stuckWork,
  waitingTexts,
  waitingWork,
} from '../../../src/temporal/versions/stuck-work.js';

interface Fake {
  readonly workflowId: string;
  /** The version of the list; `null`: the server lists none. */
  readonly listed: string | null;
  /** The build that it stays on now; `null`: it is no longer retained. */
  readonly buildId: string | null;
  readonly status?: string;
}

const PAGE = 500;
const stuck = (workflowId: string): Fake => ({ workflowId, listed: 'd:lost', buildId: 'lost' });
const healthy = (workflowId: string): Fake => ({ workflowId, listed: 'd:live', buildId: 'live' });
const many = (count: number, of: (id: string) => Fake, prefix: string): Fake[] =>
  Array.from({ length: count }, (_, i) => of(`${prefix}${i}`));

/** A server with a worker of build `live`, and the calls that it has answered. */
function serverWith(workflows: readonly Fake[]) {
  const calls = { lists: 0, taskQueues: 0, descriptions: 0, most: 0, queries: [] as string[] };
  let open = 0;
  const version = (buildId: string) => ({ deploymentName: 'd', buildId });
  const client = {
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: {
      async count(query: string) {
        calls.queries.push(query);
        return { count: 7 };
      },
      getHandle: (workflowId: string) => ({
        async describe() {
          const found = workflows.find((one) => one.workflowId === workflowId);
          // The record of the worker.
          if (found === undefined) throw new Error('there is no such workflow');
          calls.descriptions++;
          calls.most = Math.max(calls.most, ++open);
          await new Promise((resolve) => setImmediate(resolve));
          open--;
          if (found.buildId === null) throw new WorkflowNotFoundError('gone', workflowId, undefined);
          const versioningInfo = { behavior: 1, deploymentVersion: version(found.buildId) };
          const status = { name: found.status ?? 'RUNNING' };
          return {
            runId: `run of ${workflowId}`,
            status,
            raw: { workflowExecutionInfo: { versioningInfo } },
          };
        },
      }),
    },
    workflowService: {
      async listWorkflowExecutions({ nextPageToken }: { readonly nextPageToken: Uint8Array }) {
        calls.lists++;
        const from = Number(Buffer.from(nextPageToken).toString() || 0);
        const executions = workflows.slice(from, from + PAGE).map(({ workflowId, listed }) => ({
          execution: { workflowId },
          searchAttributes: {
            indexedFields:
              listed === null
                ? {}
                : { TemporalWorkerDeploymentVersion: { data: Buffer.from(JSON.stringify(listed)) } },
          },
        }));
        const next = from + PAGE < workflows.length ? String(from + PAGE) : '';
        return { executions, nextPageToken: Buffer.from(next) };
      },
      async describeTaskQueue() {
        calls.taskQueues++;
        const deploymentOptions = { workerVersioningMode: 2, ...version('live') };
        const lastAccessTime = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
        return { pollers: [{ identity: 'worker', lastAccessTime, deploymentOptions }] };
      },
    },
  };
  return { temporal: { client, namespace: 'default' } as unknown as TemporalClient, calls };
}

describe('stuckWork', () => {
  it('reads the workers only if a workflow stays on a build', async () => {
    const { temporal, calls } = serverWith([]);
    expect(await stuckWork(temporal, 'worktrack')).toEqual([]);
    expect(calls).toMatchObject({ lists: 1, taskQueues: 0 });
  });

  it('finds all, also those that are older than hundreds of healthy ones, and describes no healthy one', async () => {
    const old = many(300, stuck, 'worktrack/acme/export/old-');
    const { temporal, calls } = serverWith([...many(1_200, healthy, 'worktrack/acme/export/'), ...old]);
    const found = await stuckWork(temporal, 'worktrack');
    expect(found.map(({ workflowId }) => workflowId)).toEqual(old.map(({ workflowId }) => workflowId));
    expect(found[0]).toEqual({
      workflowId: 'worktrack/acme/export/old-0',
      runId: 'run of worktrack/acme/export/old-0',
      silence: {
        kind: 'no-build',
        workflowId: 'worktrack/acme/export/old-0',
        version: { deploymentName: 'd', buildId: 'lost' },
      },
    });
    expect(calls).toMatchObject({ lists: 3, descriptions: 300, most: 8 });
  });

  it('does not rely on a list that is late or does not say the version', async () => {
    const { temporal } = serverWith([
      { workflowId: 'moved', listed: 'd:lost', buildId: 'live' },
      { workflowId: 'ended', listed: 'd:lost', buildId: 'lost', status: 'COMPLETED' },
      { workflowId: 'gone', listed: 'd:lost', buildId: null },
      { workflowId: 'unsaid', listed: null, buildId: 'lost' },
    ]);
    expect((await stuckWork(temporal, 'worktrack')).map(({ workflowId }) => workflowId)).toEqual(['unsaid']);
  });
});

describe('waitingWork', () => {
  it('names a hundred of each connection and counts all, whatever waits elsewhere', async () => {
    const { temporal, calls } = serverWith([
      ...many(450, stuck, 'worktrack/acme/export/'),
      ...many(120, healthy, 'worktrack/acme/export/healthy-'),
      ...many(3, stuck, 'worktrack/globex/export/'),
    ]);
    const found = await waitingWork(temporal, 'worktrack');
    const [acme, globex] = [found.get('acme')!, found.get('globex')!];
    expect([acme.first.length, acme.count]).toEqual([100, 450]);
    expect([globex.first.length, globex.count]).toEqual([3, 3]);
    expect(calls.descriptions).toBe(103);
    const texts = waitingTexts(acme);
    expect(texts).toHaveLength(101);
    expect(texts.at(-1)).toEqual({
      message: '350 more workflows wait for builds without workers',
      remedy: expect.stringContaining('`worktrack unpin`'),
    });
    expect(waitingTexts(globex)).toHaveLength(3);
  });

  it('names those that are stuck, even if the list begins with many that have just been moved', async () => {
    const moved = (workflowId: string): Fake => ({ workflowId, listed: 'd:lost', buildId: 'live' });
    const { temporal } = serverWith([
      ...many(150, moved, 'worktrack/acme/export/moved-'),
      ...many(5, stuck, 'worktrack/acme/export/'),
    ]);
    const { first, count } = (await waitingWork(temporal, 'worktrack')).get('acme')!;
    expect([first.length, count]).toEqual([5, 5]);
  });
});

describe('waitingWork of many connections', () => {
  const fleet = Array.from({ length: 1_000 }, (_, i) => stuck(`worktrack/c${i}/export/run`));

  it('describes workflows of several connections at a time, and no more than 400 of all', async () => {
    const { temporal, calls } = serverWith(fleet);
    const found = await waitingWork(temporal, 'worktrack');
    expect(calls).toMatchObject({ lists: 2, descriptions: 400, most: 8 });
    expect([...found.values()].map(({ count }) => count)).toEqual(fleet.map(() => 1));
    expect(waitingTexts(found.get('c0')!)[0]!.message).toContain('worktrack/c0/export/run');
    expect(waitingTexts(found.get('c999')!)[0]!.message).toBe('1 workflow waits for builds without workers');
  });

  it('names those of the connections that are asked for, whatever waits elsewhere', async () => {
    const { temporal, calls } = serverWith(fleet);
    const found = await waitingWork(temporal, 'worktrack', ['c998', 'c999']);
    expect([...found.values()].map(({ first }) => first.length)).toEqual([1, 1]);
    expect(calls.descriptions).toBe(2);
  });

  it('describes no more than 400, even if the list of a connection is late', async () => {
    const moved = (workflowId: string): Fake => ({ workflowId, listed: 'd:lost', buildId: 'live' });
    const { temporal, calls } = serverWith(many(900, moved, 'worktrack/acme/export/'));
    const { first, count } = (await waitingWork(temporal, 'worktrack')).get('acme')!;
    expect([first.length, count, calls.descriptions]).toEqual([0, 500, 400]);
  });
});

describe('countPinned', () => {
  it('counts with one request, as servers before and since 1.28 name a version', async () => {
    const { temporal, calls } = serverWith([]);
    expect(await countPinned(temporal, "it's", { deploymentName: 'd', buildId: '1' })).toBe(7);
    expect(calls.queries).toEqual([
      "TaskQueue = 'it\\'s' AND ExecutionStatus = 'Running' AND TemporalWorkflowVersioningBehavior = 'Pinned'" +
        " AND TemporalWorkerDeploymentVersion IN ('d:1', 'd.1')",
    ]);
  });
});
