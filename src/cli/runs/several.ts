import { randomUUID } from 'node:crypto';
import { selectResources } from '../../config/index.js';
import {
  DEFAULT_TASK_QUEUE,
  type ExportInput,
  type ExportResult,
  type RunOutcome,
  type Together,
} from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { manualId, type StartOptions } from '../../temporal/client/start.js';
import { followExport } from '../../temporal/follow/follow-export.js';
import type { WorkerDifference } from '../../temporal/status/workers.js';
import { severalProgressOn } from '../progress/progress-views.js';
import { DetachedError, EXIT, type ExitCode, exitCodeOf, worstExitCode } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import {
  type ConnectionSummary,
  type Ended,
  eachConnection,
  printSummaries,
  summariesOf,
} from '../shared/each-connection.js';
import { counted, output, printJson } from '../shared/output.js';
import { checkDifferences, checkWorkers } from '../shared/worker-config.js';
import {
  type FollowSession,
  openFollowSession,
  readWait,
  type WaitOptions,
  watchForWorker,
} from './follow-session.js';
import { countsText, detailedLines, diagnosticLines, withConnection } from './result-lines.js';
import { followAgain } from './start-and-follow.js';

interface Several<Options> {
  readonly what: 'export' | 'backfill';
  readonly options: Options;
  readonly connections: readonly ConnectionSettings[];
  /** The resources in the command's arguments. */
  readonly resources: readonly string[] | undefined;
  /** The configuration file, to compare it with the workers'. */
  readonly source: string;
  readonly start: (
    temporal: TemporalClient,
    connection: ConnectionSettings,
    options: StartOptions,
    together: TogetherInput,
  ) => Promise<string>;
}

/** The part of an export's input that lets several exports share their alerts; empty for one that has none. */
type TogetherInput = Pick<ExportInput, 'together'>;

interface Run {
  readonly workflowId: string;
  /** `null` with `--no-wait`. */
  readonly result: ExportResult | null;
}

type Options = SeveralOptions & WaitOptions & { readonly json?: boolean };

/** Starts an export or backfill of each connection, waits for all, and prints one line for each. */
export function runSeveral(several: Several<Options>): Promise<ExitCode> {
  const { what, options, connections, resources } = several;
  const wait = readWait(options);
  // A wrong name fails before anything is started.
  for (const connection of connections) selectResources(connection, resources);
  return withTemporal(options, async (temporal) => {
    const { differences, idle } = await checkWorkers(temporal, connections, options);
    for (const text of idle) output.note(`warning: ${text}`);
    const progress = severalProgressOn(process.stderr);
    const session = openFollowSession(temporal, {
      ...{ what, waitMs: wait, endDisplay: () => progress.end(), next: followAgain },
    });
    const worker = watchForWorker(temporal, options.taskQueue ?? DEFAULT_TASK_QUEUE, session.note);
    const together = togetherOf(connections);
    const seen = { done: 0, total: connections.length, problems: 0 };
    try {
      const ended = await eachConnection(
        connections,
        (connection, timeoutMs) =>
          runOne(temporal, connection, { several, session, timeoutMs, differences, together }),
        ({ failure }) => {
          seen.done++;
          if (failure !== null) seen.problems++;
          worker.answered();
          progress.show(seen);
        },
      );
      worker.close();
      session.close();
      return print(ended, options);
    } finally {
      worker.close();
      session.close();
    }
  });
}

interface RunContext {
  readonly several: Several<Options>;
  readonly session: FollowSession;
  readonly timeoutMs: number;
  /** Workers with another configuration, of all connections. */
  readonly differences: readonly WorkerDifference[];
  readonly together: Together;
}

/** The connections with targets for alerts report. */
function togetherOf(connections: readonly ConnectionSettings[]): Together {
  return { id: randomUUID(), exports: connections.filter(({ notify }) => notify.length > 0).length };
}

async function runOne(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  {
    several: { what, options, resources, source, start },
    session,
    timeoutMs,
    differences,
    together,
  }: RunContext,
): Promise<Run> {
  if (session.signal.aborted)
    throw new DetachedError(`The ${what} was not started, because the command ended first.`);
  if (session.isCancelled())
    throw new DetachedError(`The ${what} was not started, because the others were cancelled.`);
  const wanted = resources ?? connection.resources.map(({ name }) => name);
  checkDifferences(
    differences.filter((found) => found.connection === connection.name),
    { source, wanted },
  );
  const workflowId = manualId(connection.name, what);
  await reachTemporal(temporal, () =>
    start(
      temporal,
      connection,
      { workflowId, taskQueue: options.taskQueue },
      connection.notify.length > 0 && together.exports > 1 ? { together } : {},
    ),
  );
  if (options.wait === false) return { workflowId, result: null };
  session.started(workflowId);
  try {
    const result = await followExport(temporal, workflowId, {
      timeoutMs: Math.min(timeoutMs, session.timeoutMs ?? timeoutMs),
      onOutage: session.note,
      signal: session.signal,
      resources: wanted,
    });
    return { workflowId, result };
  } catch (error) {
    throw session.failure(error, workflowId);
  } finally {
    session.ended(workflowId);
  }
}

function print(ended: readonly Ended<Run>[], options: Options): ExitCode {
  const summaries = summariesOf(ended, ({ workflowId, result }, { lake }) =>
    result === null ? startedSummary(workflowId) : resultSummary(result, lake.url),
  );
  if (options.json === true) printJson(jsonOf(ended, summaries));
  else printSummaries(summaries, options);
  return worstExitCode(summaries.map(({ code }) => code));
}

function startedSummary(workflowId: string): Omit<ConnectionSummary, 'name'> {
  return { code: EXIT.done, problem: false, state: 'started', detail: workflowId, lines: [] };
}

/** The result of one connection's export in one line. */
export function resultSummary(result: ExportResult, lakeUrl: string): Omit<ConnectionSummary, 'name'> {
  const { outcome, runs } = result;
  const code = exitCodeOf(result);
  const rows = runs.reduce((sum, run) => sum + (run.rows ?? 0), 0);
  const warnings = runs.reduce((sum, run) => sum + run.warnings.length, 0);
  const diagnostics = diagnosticLines(result);
  const figures = [
    counted(runs.length, 'resource'),
    counted(rows, 'row'),
    changesText(result),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
  ];
  const failures = diagnostics.filter((line) => !line.startsWith('warning: '));
  const detail = outcome === 'published' ? figures.join(', ') : (failures[0] ?? '').replace(/^\w+: /, '');
  const problem = code !== EXIT.done;
  const lines = [...detailedLines(result, lakeUrl), ...diagnostics];
  return { code, problem, state: outcome, detail, lines, notes: problem ? [] : diagnostics };
}

function changesText({ runs }: ExportResult): string {
  const sum = (name: 'inserted' | 'updated' | 'deleted' | 'restated'): number =>
    runs.reduce((all, { counts }) => all + (counts?.[name] ?? 0), 0);
  const [inserted, updated, deleted] = [sum('inserted'), sum('updated'), sum('deleted')];
  return countsText({ counts: { inserted, updated, deleted, unchanged: 0, restated: sum('restated') } });
}

/** The object that `export --all --json` prints (docs/reference/json-output.md). */
function jsonOf(ended: readonly Ended<Run>[], summaries: readonly ConnectionSummary[]): object {
  const outcomes = ended.map(({ result }): RunOutcome | 'started' =>
    result === null ? 'failed' : (result.result?.outcome ?? 'started'),
  );
  const order = ['refused', 'failed', 'cancelled', 'started'] as const;
  return {
    outcome: order.find((one) => outcomes.includes(one)) ?? 'published',
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
