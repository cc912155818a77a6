import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Stack, startStack, until } from '../../support/stack.js';

const HOUR_S = 60 * 60;

/** With many connections, it can take long until a worker is free. No run may fail for that, or lose its notification. */
describe('the activities of exports', () => {
  let stack: Stack;
  const hook = createServer((_, response) => response.writeHead(204).end());
  afterEach(async () => {
    await stack?.stop();
    hook.close();
  });

  it('have at least an hour until a worker takes them', async () => {
    await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
    const { port } = hook.address() as AddressInfo;
    stack = await startStack({
      simulator: { counts: { projects: 5, tasks: 5 } },
      resources: '[projects, tasks]',
      yaml: `    notify: { url: "http://127.0.0.1:${port}/" }
    onPublished: { workflow: loadWarehouse, taskQueue: unpolled }
`,
    });
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 402 },
    });
    await stack.startWorker();
    for (const _ of [1, 2]) expect((await stack.export()).outcome).toBe('refused');
    const names = ['planExport', 'run', 'publish', 'followOnPublished', 'reportAlerts', 'notify'];
    let limits = new Map<string, number>();
    // The notification is sent after the export, and the list of workflows is eventually consistent.
    await until(async () => {
      limits = await limitsOfActivities();
      return names.every((name) => limits.has(`worktrack.${name}`));
    }, 'each activity has been requested');
    for (const [name, limit] of limits) expect(limit, name).toBeGreaterThanOrEqual(HOUR_S);
  });

  /** The shorter limit of each activity until it starts, in seconds, by name. */
  async function limitsOfActivities(): Promise<Map<string, number>> {
    const limits = new Map<string, number>();
    for await (const { workflowId, runId } of stack.workflows()) {
      const { events } = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const { activityTaskScheduledEventAttributes: scheduled } of events ?? []) {
        const {
          activityType,
          scheduleToCloseTimeout: close,
          scheduleToStartTimeout: start,
        } = scheduled ?? {};
        if (activityType?.name == null) continue;
        limits.set(
          activityType.name,
          Math.min(...[start, close].map((limit) => Number(limit?.seconds) || Infinity)),
        );
      }
    }
    return limits;
  }
});
