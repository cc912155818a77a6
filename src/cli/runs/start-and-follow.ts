import type { ExportResult } from '../../core/contract/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { output, printJson } from '../shared/output.js';
import { type Followed, followCommand, followToEnd } from './follow.js';

export type Start = (temporal: TemporalClient, options: StartOptions) => Promise<string>;

/** Starts a workflow and follows it to its end. */
export function startAndFollow(followed: Omit<Followed, 'workflowId'>, start: Start): Promise<ExportResult> {
  const { what, connection, options } = followed;
  return withTemporal(options, async (temporal) => {
    // All attempts use one id, so that a start whose response was lost does not start a second workflow.
    const workflowId = manualId(connection.name, what);
    await reachTemporal(temporal, () => start(temporal, { workflowId, taskQueue: options.taskQueue }));
    output.note(`${what[0]!.toUpperCase()}${what.slice(1)} of ${connection.name}: ${workflowId}`);
    return followToEnd(temporal, { ...followed, workflowId });
  });
}

/** Starts a workflow for `--no-wait`, and prints only its id, so that scripts can use it. */
export function startOnly(followed: Omit<Followed, 'workflowId'>, start: Start): Promise<ExitCode> {
  const { what, connection, options } = followed;
  return withTemporal(options, async (temporal) => {
    const workflowId = manualId(connection.name, what);
    await reachTemporal(temporal, () => start(temporal, { workflowId, taskQueue: options.taskQueue }));
    if (options.json === true) printJson({ workflowId });
    else output.out(workflowId);
    output.note(`To follow it: ${followCommand({ ...followed, workflowId })}`);
    return EXIT.done;
  });
}
