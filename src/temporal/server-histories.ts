import * as workflows from '../../workflows/index.js';
import type { TemporalClient } from './connect.js';
import type { RecordedHistory } from './history.js';

/** The workflow types of this package. */
export const WORKFLOW_TYPES: readonly string[] = Object.keys(workflows).filter((name) =>
  name.endsWith('Workflow'),
);

export interface ServerHistoriesOptions {
  readonly taskQueue: string;
  /** Only this connection's, by the ids that this package gives. Default: all of the task queue. */
  readonly connection?: string | undefined;
  /** Only this workflow: all its runs that the server still has. */
  readonly workflowId?: string | undefined;
  /** At most so many histories. Default: 100. */
  readonly limit?: number | undefined;
}

/**
 * The histories of this package's workflows on a server, one after the other as they are asked for. Those that are
 * running come first: an upgrade can hurt only them.
 */
export async function* serverHistories(
  { client }: TemporalClient,
  options: ServerHistoriesOptions,
): AsyncGenerator<RecordedHistory, void, undefined> {
  let left = options.limit ?? 100;
  for (const status of ['=', '!=']) {
    const query = `${queryOf(options)} AND ExecutionStatus ${status} 'Running'`;
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      if (left-- <= 0) return;
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      yield { name: workflowId, history };
    }
  }
}

function queryOf({ taskQueue, connection, workflowId }: ServerHistoriesOptions): string {
  if (workflowId !== undefined) return `WorkflowId = ${quoted(workflowId)}`;
  const types = WORKFLOW_TYPES.map(quoted).join(', ');
  const prefix =
    connection === undefined ? '' : ` AND WorkflowId STARTS_WITH ${quoted(`worktrack/${connection}/`)}`;
  return `WorkflowType IN (${types}) AND TaskQueue = ${quoted(taskQueue)}${prefix}`;
}

/** A value in a query of Temporal's list filter. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
