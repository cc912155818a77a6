import { MINUTE_MS } from '../../core/duration.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { lastPolls } from '../status/pollers.js';
import { CONFIG_RECORD_WORKFLOW, configRecordId } from './config-record.js';

/** A worker polls within this time of its start, and a server shows each poll for five minutes. */
const MIN_AGE_MS = 10 * MINUTE_MS;
/** Most records that one call looks at. */
const MAX_RECORDS = 1_000;

/**
 * Terminates the records of workers that were killed: those of the task queue whose worker does not poll. A worker that
 * was out of reach meanwhile publishes its record again within an hour.
 *
 * @param minAgeMs younger records are left, because their workers may not poll yet
 * @throws an SDK error if Temporal does not answer, or does not allow the list
 */
export async function removeOldRecords(
  temporal: TemporalClient,
  taskQueue: string,
  minAgeMs: number = MIN_AGE_MS,
): Promise<void> {
  const { client } = temporal;
  const prefix = configRecordId(taskQueue, '');
  const query = `WorkflowType = '${CONFIG_RECORD_WORKFLOW}' AND ExecutionStatus = 'Running'`;
  const old: { workflowId: string; runId: string }[] = [];
  const list = async (): Promise<void> => {
    let seen = 0;
    for await (const { workflowId, runId, startTime } of client.workflow.list({ query })) {
      const isOld = Date.now() - startTime.getTime() > minAgeMs;
      if (isOld && workflowId.startsWith(prefix)) old.push({ workflowId, runId });
      if (++seen >= MAX_RECORDS) return;
    }
  };
  await withDeadline(temporal, list);
  if (old.length === 0) return;
  const polls = await withDeadline(temporal, () => lastPolls(temporal, taskQueue));
  for (const { workflowId, runId } of old) {
    if (polls.has(workflowId.slice(prefix.length))) continue;
    const handle = client.workflow.getHandle(workflowId, runId);
    await withDeadline(temporal, () => handle.terminate('the worker is gone'));
  }
}
