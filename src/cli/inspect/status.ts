import { selectResources } from '../../config/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { connectionLines, summariesOf } from '../shared/connection-lines.js';
import { tryTemporal } from '../shared/context.js';
import { type Ended, eachConnection } from '../shared/each-connection.js';
import { EXIT, type ExitCode, worstExitCode } from '../shared/exit-code.js';
import { duration, type SeveralOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings, selectConnections } from '../shared/settings.js';
import { terminalHeight, terminalWidth } from '../shared/terminal.js';
import { openStatus, readConnectionStatus } from './read-status.js';
import { type ConnectionStatus, isAllFresh, statusJson, statusLines } from './status-lines.js';
import { screenLines, statusSummary } from './status-summary.js';

export interface StatusOptions extends SeveralOptions {
  readonly resource?: readonly string[];
  readonly json?: boolean;
  /** Exits with 0 only if everything is fresh. */
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
  const maxAgeMs = duration('--max-age', options.maxAge, '26h or 8d');
  const temporal = await tryTemporal(options, 'Showing latest.json.');
  try {
    const from = await openStatus(temporal, settings.source, options.taskQueue);
    const read = (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionStatus> =>
      readConnectionStatus(from, connection, { resource: options.resource, timeoutMs, maxAgeMs });
    const ended = chosen.length > MAX_TABLES ? await eachConnection(chosen, read) : null;
    const connections =
      ended === null
        ? await inParallel(chosen, MAX_TABLES, (connection) => read(connection))
        : ended.flatMap(({ result }) => (result === null ? [] : [result]));
    const now = Date.now();
    const code =
      ended === null ? printFew(connections, options, now) : printMany(ended, connections, options, now);
    if (options.check !== true || code !== EXIT.done) return code;
    if (!isAllFresh(connections)) return EXIT.failed;
    // A run that failed since then is not in the lake.
    return temporal === null ? EXIT.outOfReach : EXIT.done;
  } finally {
    await temporal?.close();
  }
}

function printFew(connections: readonly ConnectionStatus[], options: StatusOptions, now: number): ExitCode {
  const shown =
    options.failing === true ? connections.filter((one) => statusSummary(one, now).problem) : connections;
  if (options.json === true) printJson(statusJson(connections));
  else for (const line of statusLines(shown, now)) output.out(line);
  return EXIT.done;
}

/** One screen, unless an option asks for more. */
function printMany(
  ended: readonly Ended<ConnectionStatus>[],
  read: readonly ConnectionStatus[],
  options: StatusOptions,
  now: number,
): ExitCode {
  const summaries = summariesOf(ended, (status) => statusSummary(status, now));
  if (options.json === true) printJson(withFailures(statusJson(read), ended));
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
