import type { WorkflowExecutionDescription } from '@temporalio/client';
import { isSameVersion } from '../../core/deployment-version.js';
import { inParallel } from '../../core/in-parallel.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { pinnedVersion, type Silence } from '../status/silence.js';
import { readPollers } from '../status/workers.js';

/** A running workflow that stays on a build without workers. */
export interface StuckWork {
  readonly workflowId: string;
  readonly described: WorkflowExecutionDescription;
  readonly silence: Extract<Silence, { readonly kind: 'no-build' }>;
}

/** Workflows that are looked at; more than these would be the same problem. */
const LOOKED_AT = 100;
const CONCURRENCY = 8;

/**
 * The running workflows of this package on a task queue that stay on a build without a worker that polls, such as an export
 * whose workers were stopped too early. Costs one request and, if workflows stay on a build, one for each of them and those of
 * `readPollers`.
 *
 * @param taskQueue of the workers
 * @returns the first 100; none if the server has no worker versions
 * @throws an SDK error if Temporal does not answer
 * @example
 * for (const { workflowId } of await stuckWork(temporal, 'worktrack')) console.log(workflowId);
 */
export async function stuckWork(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly StuckWork[]> {
  const ids = await withDeadline(temporal, () => pinnedIds(temporal, taskQueue), timeoutMs);
  if (ids.length === 0) return [];
  const pollers = await readPollers(temporal, taskQueue, timeoutMs);
  const found = await inParallel(ids, CONCURRENCY, async (workflowId): Promise<StuckWork[]> => {
    const handle = temporal.client.workflow.getHandle(workflowId);
    const described = await withDeadline(temporal, () => handle.describe(), timeoutMs);
    const version = pinnedVersion(described);
    if (described.status.name !== 'RUNNING' || version === null) return [];
    if (pollers.some((one) => isSameVersion(one.version, version))) return [];
    return [{ workflowId, described, silence: { kind: 'no-build', workflowId, version } }];
  });
  return found.flat();
}

/** Those of one connection, by the prefix of their ids. */
export function stuckOf(stuck: readonly StuckWork[], connection: string): readonly StuckWork[] {
  return stuck.filter(({ workflowId }) => workflowId.startsWith(`worktrack/${connection}/`));
}

async function pinnedIds({ client }: TemporalClient, taskQueue: string): Promise<readonly string[]> {
  const queue = taskQueue.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  const query = `TaskQueue = '${queue}' AND ExecutionStatus = 'Running' AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query, pageSize: LOOKED_AT })) {
    ids.push(workflowId);
    if (ids.length === LOOKED_AT) break;
  }
  return ids;
}
