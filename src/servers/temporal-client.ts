import { Connection } from '@temporalio/client';

/**
 * Asks a Temporal server whether it serves a namespace: connects (which calls GetSystemInfo), reads the namespace and
 * lists its workflows. The list goes through the namespace registry as a worker's first poll does, so that a
 * namespace made a moment ago is known to be usable.
 */
export async function askNamespace(address: string, namespace: string, timeoutMs = 5_000): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: timeoutMs });
  try {
    await connection.withDeadline(Date.now() + timeoutMs, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      await connection.workflowService.listWorkflowExecutions({ namespace, pageSize: 1 });
    });
  } finally {
    await connection.close();
  }
}

/** Asks a Temporal server for its capabilities only: all that the time-skipping test server surely answers. */
export async function askSystemInfo(address: string, timeoutMs = 5_000): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: timeoutMs });
  await connection.close();
}
