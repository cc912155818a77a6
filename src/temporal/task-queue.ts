import type { TemporalClient } from './connect.js';

const WORKFLOW_TASKS = 1;

/** Whether any worker has polled the task queue for workflows in the last minutes. */
export async function hasWorker(temporal: TemporalClient, taskQueue: string): Promise<boolean> {
  const { pollers } = await temporal.client.workflowService.describeTaskQueue({
    namespace: temporal.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW_TASKS,
  });
  return (pollers ?? []).length > 0;
}
