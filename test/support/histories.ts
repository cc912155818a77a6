import type { Client } from '@temporalio/client';
import type { History } from '../../src/temporal/replay.js';

/** The signals of a name in a history. */
export function signalsNamed(name: string, { events }: History): NonNullable<History['events']> {
  return (events ?? []).filter(
    ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === name,
  );
}

/** The newest history of a workflow and those that it continued as new from, oldest first. */
export async function historiesOf(client: Client, workflowId: string, runId?: string): Promise<History[]> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const earlier = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  return earlier ? [...(await historiesOf(client, workflowId, earlier)), history] : [history];
}
