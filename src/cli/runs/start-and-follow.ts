import { selectResources } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE, type ExportResult, type RunOutcome } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { type ExportView, followExport } from '../../temporal/follow/follow-export.js';
import { whyNoRuns } from '../../temporal/status/silence.js';
import type { WorkerDifference } from '../../temporal/status/workers.js';
import { exportProgressOn, severalProgressOn } from '../progress/progress-views.js';
import { DetachedError, EXIT, type ExitCode, worstExitCode } from '../shared/choose-exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/command-options.js';
import { orUserError, reachTemporal, withTemporal } from '../shared/context.js';
import {
  type ConnectionSummary,
  type Ended,
  endsOn,
  printEnds,
  printSummaries,
  summariesOf,
} from '../shared/each-connection.js';
import { output, printJson, printJsonLine } from '../shared/output.js';
import { checkDifferences, checkWorkers } from '../shared/worker-config.js';
import { openFollowSession, readWait, type WaitOptions, watchForWorker } from './follow-session.js';
import { printResult, resultSummary, withConnection } from './result-lines.js';

/** What a command starts and follows, on one or more connections. */
export interface RunCommand {
  /** The kind of workflow, for messages. */
  readonly what: 'export' | 'dry-run' | 'audit' | 'backfill' | 'rollback' | 'purge';
  readonly options: Omit<SeveralOptions, 'resource'> & WaitOptions & { readonly diff?: boolean };
  /** Default: all configured resources. */
  readonly resources?: readonly string[] | undefined;
  /** The configuration file, to compare it with the workers'; absent: the command does not depend on it. */
  readonly source?: string;
  /** Gives the result of the only connection; absent: the command starts a run and follows it. */
  readonly follower?: ((connection: ConnectionSettings) => Promise<ExportResult>) | undefined;
  /** Prints what comes before the result of a connection, and returns the result to print. Default: nothing. */
  readonly first?: (result: ExportResult, connection: ConnectionSettings) => Promise<ExportResult>;
  /** Prints the result of the only connection. Default: `printResult`. */
  readonly print?: typeof printResult;
  readonly start: (
    temporal: TemporalClient,
    connection: ConnectionSettings,
    options: StartOptions,
  ) => Promise<string>;
}

/** A run of one connection. */
interface Started {
  readonly workflowId: string;
  /** `null` with `--no-wait`. */
  readonly result: ExportResult | null;
}

/** Starts a run of each connection, follows all to their ends, and prints the results. */
export async function runOnConnections(
  run: RunCommand,
  connections: readonly ConnectionSettings[],
): Promise<ExitCode> {
  const { options, resources, follower, first, print = printResult } = run;
  // Wrong names and limits fail before anything is started.
  readWait(options);
  for (const connection of connections) selectResources(connection, resources);
  const ended =
    follower === undefined
      ? await startAll(run, connections)
      : await endsOn(connections, async (one) => ({ workflowId: '', result: await follower(one) }), options);
  return printEnds(first === undefined ? ended : await inTurn(ended, first), options, {
    one: ({ workflowId, result }, connection) =>
      result === null ? printStarted(workflowId, options) : print(result, run, connection),
    several: (all) => printSeveral(all, options),
  });
}

/** Starts a workflow for each connection and, without `--no-wait`, follows all to their ends. */
function startAll(run: RunCommand, connections: readonly ConnectionSettings[]): Promise<Ended<Started>[]> {
  const { options } = run;
  return withTemporal(options, async (temporal) => {
    const differences = await differencesFor(temporal, run, connections);
    const follower = isSeveral(options)
      ? followerOfSeveral(temporal, run, connections.length)
      : followerOfOne(temporal, run);
    const work = async (connection: ConnectionSettings, timeoutMs?: number): Promise<Started> => {
      follower.checkOpen?.();
      const workflowId = await startOnce(temporal, run, connection, differences);
      if (options.wait === false) return { workflowId, result: null };
      return { workflowId, result: await follower.follow(workflowId, connection, timeoutMs) };
    };
    const works: typeof work = (connection, timeoutMs) =>
      orUserError(temporal, () => work(connection, timeoutMs));
    return endsOn(connections, works, options, follower.onEnd).finally(follower.close);
  });
}

/** Compares the workers with the command's configuration, and warns of those that receive no new runs. */
async function differencesFor(
  temporal: TemporalClient,
  { source, options }: RunCommand,
  connections: readonly ConnectionSettings[],
): Promise<readonly WorkerDifference[]> {
  if (source === undefined) return [];
  const { differences, idle } = await checkWorkers(temporal, connections, options);
  for (const text of idle) output.note(`warning: ${text}`);
  return differences;
}

/** @throws ConfigurationError if a worker lacks a resource of the run */
async function startOnce(
  temporal: TemporalClient,
  { what, options, resources, source = '', start }: RunCommand,
  connection: ConnectionSettings,
  differences: readonly WorkerDifference[],
): Promise<string> {
  const own = differences.filter((found) => found.connection === connection.name);
  checkDifferences(own, { source, wanted: namesOf(connection, resources) });
  // All attempts use one id, so that a start whose response was lost does not start a second workflow.
  const workflowId = manualId(connection.name, what);
  await reachTemporal(temporal, () =>
    start(temporal, connection, { workflowId, taskQueue: options.taskQueue }),
  );
  return workflowId;
}

function namesOf(connection: ConnectionSettings, resources: readonly string[] | undefined): string[] {
  return selectResources(connection, resources).map(({ name }) => name);
}

interface Followed extends Omit<RunCommand, 'start' | 'source'> {
  readonly connection: ConnectionSettings;
  readonly workflowId: string;
  /** The server and the worker end with this command (`--local`); their state stays on disk. */
  readonly local?: boolean;
}

/**
 * Shows the progress of an export until it ends.
 *
 * @throws DetachedError after Ctrl-C or `--timeout`; OutOfReachError
 */
export async function followToEnd(
  temporal: TemporalClient,
  { workflowId, connection, what, options, resources, local }: Followed,
): Promise<ExportResult> {
  const progress = exportProgressOn(process.stderr);
  const session = openFollowSession(temporal, {
    ...{ what, connection, waitMs: readWait(options), display: progress },
    ...(local === true
      ? { state: `The ${what} is interrupted.`, next: () => 'To continue it, run the same command again.' }
      : { next: followAgain }),
  });
  const onView = (view: ExportView): void => {
    progress.show(view);
    session.look(view.resources);
  };
  return session
    .follow(workflowId, (reach) =>
      followExport(temporal, workflowId, { ...reach, onView, resources: namesOf(connection, resources) }),
    )
    .finally(session.close);
}

/** The command that follows the same export again. What is printed also has the options of this command (`runnable`). */
function followCommand(workflowId: string): string {
  return `worktrack export --follow ${shellWord(workflowId)}`;
}

/** How to follow a run again after the command has left. */
function followAgain(workflowId: string): string {
  return `To follow it again: ${followCommand(workflowId)}`;
}

/** Follows the runs that a command starts. */
interface Follower {
  follow(workflowId: string, connection: ConnectionSettings, timeoutMs?: number): Promise<ExportResult>;
  /** Called before each start. @throws DetachedError if the command ends, so that no further run may start */
  checkOpen?(): void;
  /** Called with the end of each of several connections. */
  onEnd?(ended: Ended<Started>): void;
  close?(): void;
}

/** Shows the progress of the run of one connection. */
function followerOfOne(temporal: TemporalClient, run: RunCommand): Follower {
  return {
    follow(workflowId, connection) {
      output.note(`${run.what[0]!.toUpperCase()}${run.what.slice(1)} of ${connection.name}: ${workflowId}`);
      return followToEnd(temporal, { ...run, connection, workflowId });
    },
  };
}

/** Shows how many runs of several connections have ended. */
function followerOfSeveral(
  temporal: TemporalClient,
  { what, options, resources }: RunCommand,
  total: number,
): Follower {
  const progress = severalProgressOn(process.stderr);
  const session = openFollowSession(temporal, {
    ...{ what, waitMs: readWait(options), display: progress, next: followAgain },
  });
  const { taskQueue = DEFAULT_TASK_QUEUE } = options;
  const worker = watchForWorker(() => whyNoRuns(temporal, taskQueue), session.note);
  const seen = { done: 0, total, problems: 0 };
  return {
    checkOpen() {
      if (session.signal.aborted)
        throw new DetachedError(`The ${what} was not started, because the command ended first.`);
      if (session.isCancelled())
        throw new DetachedError(`The ${what} was not started, because the others were cancelled.`);
    },
    follow(workflowId, connection, timeoutMs) {
      const names = namesOf(connection, resources);
      return session.follow(workflowId, (reach) =>
        followExport(temporal, workflowId, { ...reach, timeoutMs, resources: names }),
      );
    },
    onEnd({ failure }) {
      seen.done++;
      if (failure !== null) seen.problems++;
      worker.answered();
      progress.show(seen);
    },
    close() {
      worker.close();
      session.close();
    },
  };
}

/** Lets the command print what comes before the results, one connection at a time. */
async function inTurn(
  ended: readonly Ended<Started>[],
  first: NonNullable<RunCommand['first']>,
): Promise<Ended<Started>[]> {
  const all: Ended<Started>[] = [];
  for (const one of ended) {
    if (one.failure !== null || one.result.result === null) all.push(one);
    else
      all.push({ ...one, result: { ...one.result, result: await first(one.result.result, one.connection) } });
  }
  return all;
}

/** Prints only the id of a workflow, so that scripts can use it (`--no-wait`). */
function printStarted(workflowId: string, { json }: RunCommand['options']): ExitCode {
  if (json === true) printJson({ workflowId });
  else output.out(workflowId);
  output.note(`To follow it: ${followCommand(workflowId)}`);
  return EXIT.done;
}

function printSeveral(ended: readonly Ended<Started>[], options: RunCommand['options']): ExitCode {
  const summaries = summariesOf(ended, ({ workflowId, result }, { lake }) =>
    result === null
      ? { code: EXIT.done, problem: false, state: 'started', detail: workflowId, lines: [] }
      : resultSummary(result, lake.url),
  );
  if (options.json === true) (options.diff === true ? printJsonLine : printJson)(jsonOf(ended, summaries));
  else printSummaries(summaries, options);
  return worstExitCode(summaries.map(({ code }) => code));
}

/** The object that `export --all --json` prints (docs/reference/json-output.md). */
function jsonOf(ended: readonly Ended<Started>[], summaries: readonly ConnectionSummary[]): object {
  const outcomes = ended.map(({ result }): RunOutcome | 'started' =>
    result === null ? 'failed' : (result.result?.outcome ?? 'started'),
  );
  const order = ['refused', 'failed', 'cancelled', 'different', 'started'] as const;
  return {
    outcome:
      order.find((one) => outcomes.includes(one)) ??
      outcomes.find((one) => one !== 'not-compared') ??
      outcomes[0] ??
      'published',
    runs: ended.flatMap(({ connection, result }) =>
      result?.result == null ? [] : withConnection(result.result, connection.name).runs,
    ),
    connections: ended.map(({ connection, result, failure }, i) => ({
      name: connection.name,
      exitCode: summaries[i]!.code,
      workflowId: result?.workflowId ?? null,
      error: failure?.message ?? null,
    })),
  };
}
