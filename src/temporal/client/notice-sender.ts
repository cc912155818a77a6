import { WorkflowNotFoundError } from '@temporalio/client';
import type { Millis } from '../../core/brands.js';
import {
  CHANGE_NOTICE_SIGNAL,
  CHANGE_NOTICE_WORKFLOW,
  type ChangeNotice,
  DEFAULT_TASK_QUEUE,
  noticesWorkflowId,
} from '../../core/contract/index.js';
import { MAX_WAIT_MS, newNotices, UNSEEN_NOTICE_EVENTS } from '../../mirror/notice-rules.js';
import { probeNamespace, type TemporalClient, withDeadline } from './connect.js';
import { grpcMessage } from './grpc.js';

export interface NoticeSenderOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** Time limit of one notice. Default: 5,000. */
  readonly timeoutMs?: Millis | undefined;
  /**
   * A run is requested once no notice of the resource has arrived for this long, in milliseconds: at most 30,000. It is that of
   * the sender whose notice starts the collection. Default: 5,000.
   */
  readonly quietMs?: number | undefined;
}

/**
 * Creates the function that sends a receiver's change notices: it signals the workflow that collects the notices of
 * a resource, and starts the workflow if it is not running. Resolves when Temporal has stored the signal.
 *
 * Without a worker, signals would accumulate in the history without limit. If the workflow has many unprocessed
 * signals, the function sends no further one: the run that they cause starts later than now, so it covers this notice.
 *
 * @returns a function that throws an Error with Temporal's message if Temporal did not accept the notice
 * @example
 * const send = createNoticeSender(temporal);
 * await send('acme', 'tasks', 1);
 */
export function createNoticeSender(
  temporal: TemporalClient,
  { taskQueue = DEFAULT_TASK_QUEUE, timeoutMs = 5_000, quietMs }: NoticeSenderOptions = {},
): (connection: string, resource: string, notices: number) => Promise<void> {
  if (quietMs !== undefined && !(quietMs >= 0 && quietMs <= MAX_WAIT_MS))
    throw new RangeError(`quietMs is ${quietMs}; allowed: 0 to ${MAX_WAIT_MS} milliseconds`);
  return async (connection, resource, notices) => {
    // A receiver that runs for long exchanges its connection.
    const { client } = temporal;
    const workflowId = noticesWorkflowId(connection, resource);
    const send = async (): Promise<void> => {
      if (await hasManyUnprocessed(temporal, workflowId)) return;
      await client.workflow.signalWithStart(CHANGE_NOTICE_WORKFLOW, {
        workflowId,
        taskQueue,
        args: [newNotices(connection, resource, quietMs)],
        signal: CHANGE_NOTICE_SIGNAL,
        signalArgs: [{ notices } satisfies ChangeNotice],
        staticSummary: `Change notices of ${resource} (${connection})`,
        memo: { connection, resource },
      });
    };
    try {
      await withDeadline({ client }, send, timeoutMs);
    } catch (error) {
      throw new Error(grpcMessage(error), { cause: error });
    }
  };
}

async function hasManyUnprocessed({ client }: TemporalClient, workflowId: string): Promise<boolean> {
  try {
    const { status, historyLength } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' && historyLength >= UNSEEN_NOTICE_EVENTS;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/**
 * Checks that Temporal responds within `timeoutMs`, accepts the credentials and has the namespace.
 *
 * @throws the SDK's error if it does not
 * @example
 * await pingTemporal(temporal, 5_000);
 */
export async function pingTemporal(temporal: TemporalClient, timeoutMs = 2_000): Promise<void> {
  await probeNamespace(temporal.client.connection, temporal.namespace, timeoutMs);
}
