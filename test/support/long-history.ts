import type { Client } from '@temporalio/client';
import { until } from './stack.js';

/** Sends signals to a workflow, as fast as its worker reads them, until it continues as new. */
export async function signalUntilNew(
  client: Client,
  workflowId: string,
  [name, argument]: readonly [name: string, argument: unknown],
): Promise<void> {
  const handle = client.workflow.getHandle(workflowId);
  const first = (await handle.describe()).runId;
  await until(async () => {
    const { runId, raw } = await handle.describe();
    const isRead = (raw.pendingWorkflowTask ?? null) === null;
    if (runId === first && isRead)
      await Promise.all(Array.from({ length: 50 }, () => handle.signal(name, argument)));
    return runId !== first;
  }, `${workflowId} continues as new`);
}
