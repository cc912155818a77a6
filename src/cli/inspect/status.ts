import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { nextScheduled } from '../../temporal/schedule/schedule.js';
import { type ResourceStatus, readStatus } from '../../temporal/status/status.js';
import { isPolled } from '../runs/missing-worker.js';
import { connectionLines, summariesOf } from '../shared/connection-lines.js';
import { tryTemporal } from '../shared/context.js';
import { type Ended, eachConnection } from '../shared/each-connection.js';
import { EXIT, type ExitCode, worstExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import type { SeveralOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings, selectConnections } from '../shared/settings.js';
import { terminalHeight, terminalWidth } from '../shared/terminal.js';
import { type ConnectionStatus, statusJson, statusLines } from './status-lines.js';
import { screenLines, statusSummary } from './status-summary.js';

export interface StatusOptions extends SeveralOptions {
  readonly json?: boolean;
}

/** With more connections, the tables of all do not fit on one screen. */
const MAX_TABLES = 3;

/** `worktrack status`: the state of each mirror, or of `latest.json` if the mirror does not answer. */
export async function runStatus(options: StatusOptions): Promise<ExitCode> {
  const chosen = selectConnections(readSettings(options), options);
  const temporal = await tryTemporal(options, 'Showing latest.json.');
  try {
    const mirrors = await answering(temporal, options.taskQueue);
    const read = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionStatus> => {
      const [resources, schedule] = await Promise.all([
        statusOf(mirrors, connection, timeoutMs),
        temporal === null ? null : nextScheduled(temporal, connection.name),
      ]);
      return { name: connection.name, resources, schedule };
    };
    if (chosen.length > MAX_TABLES) return printMany(await eachConnection(chosen, read), options);
    const connections = await inParallel(chosen, MAX_TABLES, (connection) => read(connection));
    if (options.json === true) printJson(statusJson(connections));
    else for (const line of statusLines(shown(connections, options), Date.now())) output.out(line);
    return EXIT.done;
  } finally {
    await temporal?.close();
  }
}

/** Without a worker, every query would last until its time limit. */
async function answering(temporal: TemporalClient | null, taskQueue = DEFAULT_TASK_QUEUE) {
  return temporal !== null && (await isPolled(temporal, taskQueue)) ? temporal : null;
}

function shown(connections: readonly ConnectionStatus[], { failing }: StatusOptions) {
  if (failing !== true) return connections;
  return connections.filter((one) => statusSummary(one, Date.now()).problem);
}

/** One screen, unless an option asks for more. */
function printMany(ended: readonly Ended<ConnectionStatus>[], options: StatusOptions): ExitCode {
  const now = Date.now();
  const summaries = summariesOf(ended, (status) => statusSummary(status, now));
  const read = ended.flatMap(({ result }) => (result === null ? [] : [result]));
  if (options.json === true) printJson(statusJson(read));
  if (options.json === true || options.details === true)
    for (const { connection, failure } of ended)
      if (failure !== null) output.note(`${connection.name}: ${failure.message}`);
  if (options.json !== true) {
    const size = { width: terminalWidth(), height: terminalHeight() };
    const lines =
      options.failing === true
        ? connectionLines(summaries, options, size.width)
        : options.details === true
          ? statusLines(read, now)
          : screenLines(summaries, size);
    for (const line of lines) output.out(line);
  }
  return worstExitCode(summaries.map(({ code }) => code));
}

function statusOf(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  timeoutMs: number | undefined,
): Promise<ResourceStatus[]> {
  return withLake(
    connection,
    ({ store, retry }) => retry(() => readStatus(temporal, connection, store)),
    timeoutMs,
  );
}
