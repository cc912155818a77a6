import type { TemporalClient } from './connect.js';

const WORKFLOW_TASKS = 1;

/** Whether any worker has polled the task queue for workflows in the last minutes. */
export async function hasWorker(temporal: TemporalClient, taskQueue: string): Promise<boolean> {
  return (await lastPoll(temporal, taskQueue)) !== null;
}

/** When a worker last polled the task queue for workflows, milliseconds since 1970; `null`: not in the last minutes. */
export async function lastPoll(temporal: TemporalClient, taskQueue: string): Promise<number | null> {
  const { pollers } = await temporal.client.workflowService.describeTaskQueue({
    namespace: temporal.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW_TASKS,
  });
  const times = (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000);
  return times.length === 0 ? null : Math.max(...times);
}
