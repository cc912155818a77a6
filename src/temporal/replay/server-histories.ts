import * as workflows from '../../../workflows/index.js';
import type { TemporalClient } from '../client/connect.js';
import type { RecordedHistory } from './parse-history.js';

/** The workflow types of this package. */
const WORKFLOW_TYPES: readonly string[] = Object.keys(workflows).filter((name) => name.endsWith('Workflow'));

export interface ServerHistoriesOptions {
  readonly taskQueue: string;
  /** Only workflows of this connection, by the prefix of their ids. Default: all of the task queue. */
  readonly connection?: string | undefined;
  /** Only this workflow: all of its runs that the server retains. */
  readonly workflowId?: string | undefined;
  /** Maximum number of histories. Default: 100. */
  readonly limit?: number | undefined;
}

/**
 * Fetches the histories of this package's workflows from a server, one at a time. Running workflows come first, because
 * an upgrade affects only them.
 *
 * @example
 * const options = { taskQueue: 'worktrack', connection: 'acme', limit: 20 };
 * for await (const { name } of serverHistories(temporal, options)) console.log(name);
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

/** Quotes a value in a list filter of Temporal. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
