import { describe, expect, it } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { unpin } from '../../../src/temporal/versions/unpin.js';

const version = (buildId: string) => ({ deploymentName: 'd', buildId });

/** A server with a worker of the current build `live`, and runs that stay on the build `lost`; `ended`: those that end now. */
function serverWith(ids: readonly string[], ended: readonly string[] = []) {
  const calls = { moved: [] as string[], mostHistories: 0 };
  const pages = [ids.slice(0, 120), ids.slice(120)];
  let open = 0;
  const client = {
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: {
      getHandle: (workflowId: string) => ({
        async describe() {
          // The record of the worker.
          if (!ids.includes(workflowId)) throw new Error('there is no such workflow');
          const versioningInfo = { behavior: 1, deploymentVersion: version('lost') };
          const raw = { workflowExecutionInfo: { versioningInfo } };
          return { runId: `run of ${workflowId}`, status: { name: 'RUNNING' }, raw };
        },
        async fetchHistory() {
          calls.mostHistories = Math.max(calls.mostHistories, ++open);
          await new Promise((resolve) => setImmediate(resolve));
          open--;
          // Without a completed task there is nothing to replay.
          return { events: [{ workflowExecutionStartedEventAttributes: { workflowId } }] };
        },
      }),
    },
    workflowService: {
      async listWorkflowExecutions({ nextPageToken }: { readonly nextPageToken: Uint8Array }) {
        const at = nextPageToken.length;
        const executions = pages[at]!.map((workflowId) => ({ execution: { workflowId } }));
        return { executions, nextPageToken: Buffer.alloc(at + 1 < pages.length ? at + 1 : 0) };
      },
      async describeTaskQueue() {
        const lastAccessTime = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
        const deploymentOptions = { workerVersioningMode: 2, ...version('live') };
        return {
          pollers: [{ identity: 'worker', lastAccessTime, deploymentOptions }],
          versioningInfo: { currentDeploymentVersion: version('live') },
        };
      },
      async updateWorkflowExecutionOptions({
        workflowExecution: { workflowId },
      }: {
        readonly workflowExecution: { readonly workflowId: string };
      }) {
        const details = 'workflow execution already completed';
        if (ended.includes(workflowId)) throw Object.assign(new Error(details), { code: 5, details });
        calls.moved.push(workflowId);
      },
    },
  };
  return { temporal: { client, namespace: 'default' } as unknown as TemporalClient, calls };
}

describe('unpin', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `worktrack/acme/export/${i}`);

  it('moves all runs that wait, however many there are, with a few histories in memory', async () => {
    const { temporal, calls } = serverWith(ids);
    const moved = await unpin(temporal, 'worktrack');
    expect(calls.moved).toEqual(ids);
    expect(moved).toHaveLength(ids.length);
    expect(moved[299]).toEqual({
      workflowId: 'worktrack/acme/export/299',
      from: version('lost'),
      to: version('live'),
      outcome: 'moved',
      error: null,
    });
    expect(calls.mostHistories).toBeLessThanOrEqual(8);
  });

  it('leaves out a run that has ended by then, and continues', async () => {
    const { temporal } = serverWith(ids, [ids[1]!]);
    const moved = await unpin(temporal, 'worktrack');
    expect(moved.map(({ workflowId }) => workflowId)).toEqual(ids.filter((id) => id !== ids[1]));
  });
});
