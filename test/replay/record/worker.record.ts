import { it } from 'vitest';
import { until } from '../../support/stack.js';
import { record, stack, started } from './recorder.js';

it("records the workflow that holds a worker's configuration", async () => {
  await started({});
  const workflowId = `${stack.connection}-configuration`;
  const handle = await stack.temporal.client.workflow.start('workerConfigurationWorkflow', {
    workflowId,
    taskQueue: stack.taskQueue,
    args: [{ gzip: '' }],
  });
  await until(async () => (await handle.describe()).historyLength >= 5, 'it waits');
  await handle.cancel();
  await handle.result().catch(() => {});
  await record('workerConfigurationWorkflow', 'cancelled', workflowId);
});
