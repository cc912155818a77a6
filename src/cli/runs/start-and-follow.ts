import type { ExportResult } from '../../core/contract/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { output } from '../shared/output.js';
import { checkWorkers } from '../shared/worker-config.js';
import { type Followed, followToEnd } from './follow.js';

type Start = (temporal: TemporalClient, options: StartOptions) => Promise<string>;

/** Starts a workflow and follows it to its end. */
export function startAndFollow(
  followed: Omit<Followed, 'workflowId'> & {
    /** The configuration file, to compare it with the workers'; absent: the command does not depend on it. */
    readonly source?: string;
  },
  start: Start,
): Promise<ExportResult> {
  const { what, connection, options, source } = followed;
  return withTemporal(options, async (temporal) => {
    if (source !== undefined) {
      const wanted = followed.resources ?? connection.resources.map(({ name }) => name);
      await checkWorkers(temporal, connection, options, { source, wanted });
    }
    // All attempts use one id, so that a start whose response was lost does not start a second workflow.
    const workflowId = manualId(connection.name, what);
    await reachTemporal(temporal, () => start(temporal, { workflowId, taskQueue: options.taskQueue }));
    output.note(`${what[0]!.toUpperCase()}${what.slice(1)} of ${connection.name}: ${workflowId}`);
    return followToEnd(temporal, { ...followed, workflowId });
  });
}
