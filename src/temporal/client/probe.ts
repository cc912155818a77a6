import type { ConnectionLike } from '@temporalio/client';
import { isRefusedPoll } from './grpc.js';

/** Longest wait for the description of the namespace, in milliseconds. */
const DESCRIBED_WITHIN_MS = 4_000;
/** The server answers an idle poll two seconds before the deadline, and rejects a shorter one. */
const POLLED_WITHIN_MS = 3_000;

/**
 * Checks that Temporal answers on a connection, has the namespace, and lets the holder read it.
 *
 * @throws the SDK's error
 */
export async function probeNamespace(
  connection: ConnectionLike,
  namespace: string,
  timeoutMs = DESCRIBED_WITHIN_MS,
): Promise<void> {
  await connection.withDeadline(Date.now() + timeoutMs, () =>
    connection.workflowService.describeNamespace({ namespace }),
  );
}

/**
 * The same for a worker, which must also be allowed to poll. Credentials can lose that right alone. The poll is on a task
 * queue that has no tasks.
 *
 * @throws the SDK's error
 */
export async function probeWorker(
  connection: ConnectionLike,
  { namespace, taskQueue }: { readonly namespace: string; readonly taskQueue: string },
): Promise<void> {
  await probeNamespace(connection, namespace);
  try {
    await connection.withDeadline(Date.now() + POLLED_WITHIN_MS, () =>
      connection.workflowService.pollActivityTaskQueue({
        namespace,
        taskQueue: { name: `${taskQueue}/probe` },
        identity: 'temporal-worktrack probe',
      }),
    );
  } catch (error) {
    // A server that keeps the poll until its deadline has accepted it.
    if (isRefusedPoll(error)) throw error;
  }
}
