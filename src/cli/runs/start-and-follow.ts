import type { ExportResult } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { followExport } from '../../temporal/follow/follow-export.js';
import { exportProgressOn } from '../progress/progress-views.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { output, printJson } from '../shared/output.js';
import { shellWord } from '../shared/runnable.js';
import { checkDifferences, checkWorkers } from '../shared/worker-config.js';
import { openFollowSession, readWait, type WaitOptions } from './follow-session.js';

export type Start = (temporal: TemporalClient, options: StartOptions) => Promise<string>;

/** A run of one connection that a command starts and follows. */
interface Run {
  readonly options: GlobalOptions & WaitOptions & { readonly json?: boolean };
  readonly connection: ConnectionSettings;
  /** Default: all configured resources. */
  readonly resources?: readonly string[] | undefined;
  /** The kind of workflow, for messages. */
  readonly what: 'export' | 'backfill' | 'rollback' | 'purge';
  /** The configuration file, to compare it with the workers'; absent: the command does not depend on it. */
  readonly source?: string;
}

interface Followed extends Run {
  readonly workflowId: string;
  /** The server and the worker end with this command (`--local`); their state stays on disk. */
  readonly local?: boolean;
}

/** Starts a workflow and follows it to its end. */
export function startAndFollow(run: Run, start: Start): Promise<ExportResult> {
  const { what, connection, options } = run;
  return withTemporal(options, async (temporal) => {
    const workflowId = await startOnce(temporal, run, start);
    output.note(`${what[0]!.toUpperCase()}${what.slice(1)} of ${connection.name}: ${workflowId}`);
    return followToEnd(temporal, { ...run, workflowId });
  });
}

/** Starts a workflow for `--no-wait`, and prints only its id, so that scripts can use it. */
export function startOnly(run: Run, start: Start): Promise<ExitCode> {
  const { options } = run;
  return withTemporal(options, async (temporal) => {
    const workflowId = await startOnce(temporal, run, start);
    if (options.json === true) printJson({ workflowId });
    else output.out(workflowId);
    output.note(`To follow it: ${followCommand(workflowId)}`);
    return EXIT.done;
  });
}

async function startOnce(temporal: TemporalClient, run: Run, start: Start): Promise<string> {
  const { what, connection, options, source } = run;
  if (source !== undefined) {
    const wanted = run.resources ?? connection.resources.map(({ name }) => name);
    const { differences, idle } = await checkWorkers(temporal, [connection], options);
    checkDifferences(differences, { source, wanted });
    for (const text of idle) output.note(`warning: ${text}`);
  }
  // All attempts use one id, so that a start whose response was lost does not start a second workflow.
  const workflowId = manualId(connection.name, what);
  await reachTemporal(temporal, () => start(temporal, { workflowId, taskQueue: options.taskQueue }));
  return workflowId;
}

/**
 * Shows the progress of an export until it ends.
 *
 * @throws DetachedError after Ctrl-C or `--timeout`; OutOfReachError
 */
export async function followToEnd(temporal: TemporalClient, followed: Followed): Promise<ExportResult> {
  const { workflowId, connection, what, options } = followed;
  const progress = exportProgressOn(process.stderr);
  const session = openFollowSession(temporal, {
    ...{ what, connection, waitMs: readWait(options), endDisplay: () => progress.end() },
    ...(followed.local === true
      ? { state: `The ${what} is interrupted.`, next: () => 'To continue it, run the same command again.' }
      : { next: followAgain }),
  });
  session.started(workflowId);
  const { timeoutMs, onOutage, signal } = session;
  try {
    return await followExport(temporal, workflowId, {
      ...{ timeoutMs, onOutage, signal },
      resources: followed.resources ?? connection.resources.map(({ name }) => name),
      onView(view) {
        progress.show(view);
        session.look(view.resources);
      },
    });
  } catch (error) {
    throw session.failure(error, workflowId);
  } finally {
    session.close();
  }
}

/** The command that follows the same export again. What is printed also has the options of this command (`runnable`). */
function followCommand(workflowId: string): string {
  return `worktrack export --follow ${shellWord(workflowId)}`;
}

/** How to follow a run again after the command has left. */
export function followAgain(workflowId: string): string {
  return `To follow it again: ${followCommand(workflowId)}`;
}
