import { selectResources } from '../../config/index.js';
import type { EpochMs } from '../../core/brands.js';
import { STATE_NAMES, worstOf } from '../../core/resource-state.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import { EXIT, type ExitCode, worstExitCode } from '../shared/choose-exit-code.js';
import { durationOption, type SeveralOptions } from '../shared/command-options.js';
import { withOptionalTemporal } from '../shared/context.js';
import {
  type ConnectionSummary,
  connectionLines,
  type Ended,
  eachConnection,
  readSettings,
  selectConnections,
  summariesOf,
  totalLine,
} from '../shared/each-connection.js';
import {
  age,
  counted,
  cut,
  output,
  printJson,
  table,
  terminalHeight,
  terminalWidth,
} from '../shared/output.js';
import { openStatus } from './read-status.js';
import { type ConnectionStatus, isAllFresh, statusJson, statusLines } from './status-lines.js';
import { unknownRuns } from './unknown-runs.js';

interface StatusOptions extends SeveralOptions {
  readonly check?: boolean;
  readonly maxAge: string;
}

/** With more connections, the tables of all do not fit on one screen. */
const MAX_TABLES = 3;

/** `worktrack status`: the state of each resource, from its mirror, the server and `latest.json`. */
export async function runStatus(options: StatusOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = selectConnections(settings, options);
  // A wrong name fails before anything is read.
  for (const connection of chosen) selectResources(connection, options.resource);
  const maxAgeMs = durationOption('--max-age', options.maxAge, '26h or 8d');
  return withOptionalTemporal(options, 'Showing latest.json.', async (temporal) => {
    const unknown = unknownRuns(temporal);
    const { source } = settings;
    const names = chosen.map(({ name }) => name);
    const readStatus = await openStatus(temporal, source, names, maxAgeMs, unknown.add, options.taskQueue);
    const read = (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionStatus> =>
      readStatus(connection, options.resource, timeoutMs);
    const [only, ...others] = chosen;
    const ended: Ended<ConnectionStatus>[] =
      only !== undefined && others.length === 0
        ? [{ connection: only, result: await read(only), failure: null }]
        : await eachConnection(chosen, read);
    unknown.note();
    const connections = ended.flatMap(({ result }) => (result === null ? [] : [result]));
    const code = print(ended, connections, options);
    if (options.check !== true || code !== EXIT.done) return code;
    if (!isAllFresh(connections)) return EXIT.failed;
    // A run that failed since then is not in the lake.
    return unknown.code;
  });
}

/** Prints tables of a few connections, or one screen about many, unless an option asks for more. */
function print(
  ended: readonly Ended<ConnectionStatus>[],
  read: readonly ConnectionStatus[],
  options: StatusOptions,
): ExitCode {
  const { json, details, failing } = options;
  const now = Date.now();
  const isTables = ended.length <= MAX_TABLES || (details === true && failing !== true);
  const summaries = summariesOf(ended, (status) => statusSummary(status, now));
  if (json === true) printJson(withFailures(statusJson(read), ended));
  if (json === true || details === true || isTables)
    for (const { connection, failure } of ended)
      if (failure !== null) output.paragraph(`${connection.name}: ${failure.message}`);
  if (json !== true) {
    const size = { width: terminalWidth(), height: terminalHeight() };
    const shown = failing === true ? read.filter((one) => statusSummary(one, now).problem) : read;
    const many =
      failing === true ? connectionLines(summaries, options, size.width) : screenLines(summaries, size);
    const lines = isTables ? statusLines(shown, now) : many;
    for (const line of lines) output.out(line);
  }
  return worstExitCode(summaries.map(({ code }) => code));
}

/** A connection that could not be read is not fresh. */
function withFailures(
  json: ReturnType<typeof statusJson>,
  ended: readonly Ended<ConnectionStatus>[],
): object {
  const failed = ended.flatMap(({ connection: { name }, failure }) =>
    failure === null ? [] : [{ name, fresh: false, exitCode: failure.code, error: failure.message }],
  );
  return {
    ...json,
    fresh: json.fresh && failed.length === 0,
    connections: [...json.connections, ...failed],
  };
}

/** The state of a connection in one line: that of its worst resource. */
export function statusSummary(status: ConnectionStatus, now: EpochMs): ConnectionSummary {
  const { name, resources, schedule } = status;
  const worst = worstOf(resources);
  const [first] = worst;
  const problem = first?.isProblem === true;
  const names = worst.map((resource) => resource.name).join(', ');
  const differences = status.differences ?? [];
  const detail = [
    ...(problem ? [`${names}: ${first.cause ?? ''}`] : []),
    snapshotText(resources, now),
    ...(schedule?.state === 'paused' ? ['schedule paused'] : []),
    ...(differences.length === 0 ? [] : ['a worker has another configuration']),
  ];
  return {
    ...{ name, code: EXIT.done, problem: problem || differences.length > 0 },
    state: STATE_NAMES[first?.state ?? 'never-run'],
    detail: detail.join('; '),
    lines: statusLines([status], now).slice(1),
  };
}

function snapshotText(resources: readonly ResourceStatus[], now: number): string {
  const times = resources.flatMap(({ snapshotAt }) => (snapshotAt === null ? [] : [Date.parse(snapshotAt)]));
  if (times.length === 0) return 'no snapshot';
  const rows = resources.reduce((sum, resource) => sum + (resource.rows ?? 0), 0);
  return `${counted(rows, 'row')}, oldest snapshot ${age(now - Math.min(...times))}`;
}

/** Lines around the list of connections: the total, an empty line, and two lines below. */
const FRAME = 4;

/**
 * One screen about many connections: the total, then those with a problem, as many as fit.
 *
 * @param height lines of the screen; the prompt of the shell needs one
 */
export function screenLines(
  summaries: readonly ConnectionSummary[],
  { width, height }: { readonly width: number; readonly height: number },
): string[] {
  const problems = summaries.filter(({ problem }) => problem);
  const shown = problems.slice(0, Math.max(1, height - 1 - FRAME));
  const rows = table(shown.map(({ name, state, detail }) => [name, state, detail.replace(/\s+/g, ' ')]));
  const hidden = problems.length - shown.length;
  const hint = 'Details: --connection NAME, or --details for all.';
  return [
    totalLine(summaries),
    ...(rows.length === 0 ? [] : ['', ...rows.map((row) => cut(row, width))]),
    ...(hidden === 0 ? [] : [`... and ${hidden} more with a problem; --failing lists all`]),
    hint,
  ];
}
