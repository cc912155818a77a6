import { loadSettings, selectConnection } from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import {
  EXIT,
  type ExitCode,
  type Failure,
  failureOf,
  UsageError,
  worstExitCode,
} from './choose-exit-code.js';
import { type GlobalOptions, isSeveral, reachTimeoutMs, type SeveralOptions } from './command-options.js';
import { count, counted, cut, output, printJson, table, terminalWidth } from './output.js';

/** @throws ConfigurationError */
export function readSettings(options: GlobalOptions): Settings {
  return loadSettings({ file: options.config, env: process.env, cwd: process.cwd() });
}

/** The selected connection. @throws ConfigurationError */
export function readConnection(options: GlobalOptions): ConnectionSettings {
  return selectConnection(readSettings(options), options.connection);
}

/** The named connections, by default all of them. @throws ConfigurationError; UsageError */
export function selectConnections(
  settings: Settings,
  { all, connections = [] }: SeveralOptions,
): readonly ConnectionSettings[] {
  return chooseConnections(settings, { connections, all: all ?? connections.length === 0 });
}

/**
 * The connections of a command that takes `--all` and several `--connection`, in the order of the file.
 *
 * @throws ConfigurationError; UsageError for both options
 */
export function chooseConnections(
  settings: Settings,
  { all = false, connections = [] }: SeveralOptions,
): readonly ConnectionSettings[] {
  if (all && connections.length > 0)
    throw new UsageError('use either --all or --connection, because --all includes every connection');
  if (all) return settings.connections;
  const [only] = settings.connections;
  if (connections.length === 0 && settings.connections.length > 1)
    throw new ConfigurationError(
      `${settings.source} has ${settings.connections.length} connections, such as ${only?.name}`,
      { path: 'connections', remedy: 'Choose some with --connection, or all with --all.' },
    );
  if (connections.length === 0) return [selectConnection(settings)];
  const chosen = new Set(connections.map((name) => selectConnection(settings, name)));
  return settings.connections.filter((connection) => chosen.has(connection));
}

/** Number of connections that a command works on at the same time. */
export const PARALLEL_CONNECTIONS = 16;
/** Once a server is unreachable, the others are tried for this long, so that one outage does not last for hours. */
const LATER_TIMEOUT_MS = 5_000;

/** The end of a command's work on one connection. */
export type Ended<T> =
  | { readonly connection: ConnectionSettings; readonly result: T; readonly failure: null }
  | { readonly connection: ConnectionSettings; readonly result: null; readonly failure: Failure };

/**
 * Runs a command's work on each connection, with at most `PARALLEL_CONNECTIONS` at the same time. A connection that fails
 * does not stop the others. Results are in the order of the connections.
 *
 * @param work receives how long a server may be unreachable, in milliseconds
 * @param onEnd called with each end, in the order of the ends
 */
export async function eachConnection<T>(
  connections: readonly ConnectionSettings[],
  work: (connection: ConnectionSettings, timeoutMs: number) => Promise<T>,
  onEnd: (ended: Ended<T>) => void = () => {},
): Promise<Ended<T>[]> {
  const timeoutMs = reachTimeoutMs(process.env);
  let isOutOfReach = false;
  return inParallel(connections, PARALLEL_CONNECTIONS, async (connection): Promise<Ended<T>> => {
    let ended: Ended<T>;
    try {
      const limit = isOutOfReach ? Math.min(timeoutMs, LATER_TIMEOUT_MS) : timeoutMs;
      ended = { connection, result: await work(connection, limit), failure: null };
    } catch (error) {
      ended = { connection, result: null, failure: failureOf(error, process.env) };
    }
    if (ended.failure?.code === EXIT.outOfReach) isOutOfReach = true;
    onEnd(ended);
    return ended;
  });
}

/** What a command on several connections prints about one of them. */
export interface ConnectionSummary {
  readonly name: string;
  readonly code: ExitCode;
  /** Whether a person should look at it; `--failing` prints only these. */
  readonly problem: boolean;
  /** One or two words, such as `published`. */
  readonly state: string;
  /** The most important figures, or the beginning of the cause. */
  readonly detail: string;
  /** Further lines: results, causes and remedies. */
  readonly lines: readonly string[];
  /** Lines that are printed although there is no problem, such as warnings. */
  readonly notes?: readonly string[];
}

const STATES: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.refused]: 'refused',
  [EXIT.outOfReach]: 'unreachable',
  [EXIT.detached]: 'not awaited',
};

/**
 * One line per connection, then the details of those with a problem, or of all with `details`.
 *
 * @param width longest line
 */
export function connectionLines(
  summaries: readonly ConnectionSummary[],
  { failing = false, details = false }: Pick<SeveralOptions, 'failing' | 'details'>,
  width: number = Number.POSITIVE_INFINITY,
): string[] {
  const shown = failing ? summaries.filter(({ problem }) => problem) : summaries;
  const lines = table(shown.map(({ name, state, detail }) => [name, state, detail.replace(/\s+/g, ' ')]));
  const below = shown
    .filter(({ problem, lines }) => (details || problem) && lines.length > 0)
    .flatMap(({ name, lines }) => ['', name, ...lines.map((line) => `  ${line}`.trimEnd())]);
  const notes = details ? [] : noteLines(shown);
  return [...lines.map((line) => cut(line, width)), ...below, ...notes];
}

/** Connections in a note. */
const NAMED = 3;

/** Each note once, with the connections that it is about. */
function noteLines(summaries: readonly ConnectionSummary[]): string[] {
  const noted = summaries.flatMap(({ name, notes }) => [...new Set(notes)].map((note) => ({ name, note })));
  const lines = [...groupBy(noted, ({ note }) => note)].map(([note, same]) => {
    const more = same.length - NAMED;
    const about = same.slice(0, NAMED).map(({ name }) => name);
    return `${about.join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}: ${note}`;
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** `300 connections: 298 published, 2 failed`. */
export function totalLine(summaries: readonly ConnectionSummary[]): string {
  const states = [...groupBy(summaries, ({ state }) => state)].sort(([, a], [, b]) => b.length - a.length);
  const most = states.map(([state, same]) => `${count(same.length)} ${state}`);
  return `${counted(summaries.length, 'connection')}: ${most.join(', ')}`;
}

/** The summaries of connections in their order. @param summary of a connection where the command succeeded */
export function summariesOf<T>(
  ended: readonly Ended<T>[],
  summary: (result: T, connection: ConnectionSettings) => Omit<ConnectionSummary, 'name'>,
): ConnectionSummary[] {
  return ended.map(({ connection, result, failure }) => {
    const { name } = connection;
    if (failure === null) return { name, ...summary(result, connection) };
    const { code, message } = failure;
    const lines = message.split('\n');
    return { name, code, problem: true, state: STATES[code] ?? 'failed', detail: lines[0]!, lines };
  });
}

/**
 * Prints the ends of a command on several connections, as lines or as one JSON object. A connection where the command
 * itself failed is `{ "name", "exitCode", "error" }`.
 *
 * @param json what `--json` says about one connection, without its name
 * @returns the worst exit code
 */
export function printEnded<T>(
  ended: readonly Ended<T>[],
  options: SeveralOptions,
  summary: (result: T, connection: ConnectionSettings) => Omit<ConnectionSummary, 'name'>,
  json: (result: T) => object,
): ExitCode {
  const summaries = summariesOf(ended, summary);
  if (options.json === true) {
    const connections = ended.map(({ connection, result, failure }, i) => ({
      name: connection.name,
      exitCode: summaries[i]!.code,
      ...(failure === null ? json(result) : { error: failure.message }),
    }));
    printJson({ connections });
  } else printSummaries(summaries, options);
  return worstExitCode(summaries.map(({ code }) => code));
}

/**
 * Runs a command's work on its connections, often one. The form depends on the options, not on the number in the file.
 *
 * @param work receives how long a server may be unreachable, in milliseconds; absent: the connection is the only one
 * @param onEnd called with the end of each of several connections
 * @throws what the work on the only connection throws
 */
export async function endsOn<T>(
  connections: readonly ConnectionSettings[],
  work: (connection: ConnectionSettings, timeoutMs?: number) => Promise<T>,
  options: SeveralOptions,
  onEnd?: (ended: Ended<T>) => void,
): Promise<Ended<T>[]> {
  if (isSeveral(options)) return eachConnection(connections, work, onEnd);
  const [connection] = connections as [ConnectionSettings];
  return [{ connection, result: await work(connection), failure: null }];
}

/** How a command prints the end of its work on the only connection, or the ends on several. */
export interface Printer<T> {
  readonly one: (result: T, connection: ConnectionSettings) => ExitCode;
  readonly several: (ended: readonly Ended<T>[]) => ExitCode;
}

/** Prints the ends of `endsOn`. */
export function printEnds<T>(
  ended: readonly Ended<T>[],
  options: SeveralOptions,
  { one, several }: Printer<T>,
): ExitCode {
  const [only] = ended;
  if (isSeveral(options) || only == null || only.failure !== null) return several(ended);
  return one(only.result, only.connection);
}

/** Runs a command's work on its connections, and prints the ends. @throws what the work on the only connection throws */
export async function onConnections<T>(
  connections: readonly ConnectionSettings[],
  work: (connection: ConnectionSettings, timeoutMs?: number) => Promise<T>,
  options: SeveralOptions,
  printer: Printer<T>,
): Promise<ExitCode> {
  return printEnds(await endsOn(connections, work, options), options, printer);
}

/** Prints a line per connection and, on stderr, the total. */
export function printSummaries(summaries: readonly ConnectionSummary[], options: SeveralOptions): void {
  for (const line of connectionLines(summaries, options, terminalWidth())) output.out(line);
  output.note(totalLine(summaries));
}
