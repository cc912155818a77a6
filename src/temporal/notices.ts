import { WorkflowNotFoundError } from '@temporalio/client';
import {
  CHANGE_NOTICE_SIGNAL,
  CHANGE_NOTICE_WORKFLOW,
  type ChangeNotice,
  DEFAULT_TASK_QUEUE,
  type NoticesState,
  noticesWorkflowId,
} from '../core/contract.js';
import { newNotices, UNSEEN_NOTICE_EVENTS } from '../core/notices.js';
import type { TemporalClient } from './connect.js';
import { grpcMessage } from './grpc.js';

export interface NoticeSenderOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** What one notice may take, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What a receiver of change notices sends them with: a signal to the workflow that gathers those of the resource,
 * which is started unless it runs. Resolves when Temporal has it on disk.
 *
 * While no worker looks at them, signals would pile up in a history without bound. So when there are many that
 * the workflow has not seen, no further one is sent: the run that they lead to begins later than now and satisfies
 * this notice too.
 *
 * @returns a function that throws an Error with Temporal's own words when it did not take the notice
 */
export function createNoticeSender(
  temporal: TemporalClient,
  { taskQueue = DEFAULT_TASK_QUEUE, timeoutMs = 5_000 }: NoticeSenderOptions = {},
): (connection: string, resource: string, notices: number) => Promise<void> {
  const { client } = temporal;
  return async (connection, resource, notices) => {
    const workflowId = noticesWorkflowId(connection, resource);
    try {
      await client.connection.withDeadline(Date.now() + timeoutMs, async () => {
        if (await areManyUnseen(temporal, workflowId)) return;
        await client.workflow.signalWithStart<(state: NoticesState) => Promise<void>, [ChangeNotice]>(
          CHANGE_NOTICE_WORKFLOW,
          {
            workflowId,
            taskQueue,
            args: [newNotices(connection, resource)],
            signal: CHANGE_NOTICE_SIGNAL,
            signalArgs: [{ notices }],
            staticSummary: `Change notices of ${resource} (${connection})`,
            memo: { connection, resource },
          },
        );
      });
    } catch (error) {
      throw new Error(grpcMessage(error), { cause: error });
    }
  };
}

async function areManyUnseen({ client }: TemporalClient, workflowId: string): Promise<boolean> {
  try {
    const { status, historyLength } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' && historyLength >= UNSEEN_NOTICE_EVENTS;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Whether Temporal answers. @throws what the SDK throws when it does not, within `timeoutMs` */
export async function pingTemporal({ client }: TemporalClient, timeoutMs = 2_000): Promise<void> {
  await client.connection.withDeadline(Date.now() + timeoutMs, () =>
    client.workflowService.getSystemInfo({}),
  );
}
