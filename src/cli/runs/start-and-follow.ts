import type { ExportResult } from '../../core/contract/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { output, printJson } from '../shared/output.js';
import { checkDifferences, checkWorkers } from '../shared/worker-config.js';
import { type Followed, followCommand, followToEnd } from './follow.js';

export type Start = (temporal: TemporalClient, options: StartOptions) => Promise<string>;

interface Started extends Omit<Followed, 'workflowId'> {
  /** The configuration file, to compare it with the workers'; absent: the command does not depend on it. */
  readonly source?: string;
}

/** Starts a workflow and follows it to its end. */
export function startAndFollow(started: Started, start: Start): Promise<ExportResult> {
  const { what, connection, options } = started;
  return withTemporal(options, async (temporal) => {
    const workflowId = await startOnce(temporal, started, start);
    output.note(`${what[0]!.toUpperCase()}${what.slice(1)} of ${connection.name}: ${workflowId}`);
    return followToEnd(temporal, { ...started, workflowId });
  });
}

/** Starts a workflow for `--no-wait`, and prints only its id, so that scripts can use it. */
export function startOnly(started: Started, start: Start): Promise<ExitCode> {
  const { options } = started;
  return withTemporal(options, async (temporal) => {
    const workflowId = await startOnce(temporal, started, start);
    if (options.json === true) printJson({ workflowId });
    else output.out(workflowId);
    output.note(`To follow it: ${followCommand({ ...started, workflowId })}`);
    return EXIT.done;
  });
}

async function startOnce(temporal: TemporalClient, started: Started, start: Start): Promise<string> {
  const { what, connection, options, source } = started;
  if (source !== undefined) {
    const wanted = started.resources ?? connection.resources.map(({ name }) => name);
    const { differences, idle } = await checkWorkers(temporal, [connection], options);
    checkDifferences(differences, { source, wanted });
    for (const text of idle) output.note(`warning: ${text}`);
  }
  // All attempts use one id, so that a start whose response was lost does not start a second workflow.
  const workflowId = manualId(connection.name, what);
  await reachTemporal(temporal, () => start(temporal, { workflowId, taskQueue: options.taskQueue }));
  return workflowId;
}
