import type { ConnectionSettings } from '../../core/settings.js';
import type { Ended } from './each-connection.js';
import { EXIT, type ExitCode, worstExitCode } from './exit-code.js';
import type { SeveralOptions } from './options.js';
import { output, printJson } from './output.js';
import { terminalWidth } from './terminal.js';
import { count, counted, cut, table } from './text.js';

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
  [EXIT.outOfReach]: 'out of reach',
  [EXIT.detached]: 'not awaited',
};

/** The summary of a connection where the command itself failed. @param message what happened and what to do next */
export function failedSummary(name: string, code: ExitCode, message: string): ConnectionSummary {
  const lines = message.split('\n');
  return { name, code, problem: true, state: STATES[code] ?? 'failed', detail: lines[0]!, lines };
}

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
  const names = new Map<string, string[]>();
  for (const { name, notes = [] } of summaries)
    for (const note of new Set(notes)) names.set(note, [...(names.get(note) ?? []), name]);
  const lines = [...names].map(([note, about]) => {
    const more = about.length - NAMED;
    return `${about.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}: ${note}`;
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** `300 connections: 298 published, 2 failed`. */
export function totalLine(summaries: readonly ConnectionSummary[]): string {
  const states = new Map<string, number>();
  for (const { state } of summaries) states.set(state, (states.get(state) ?? 0) + 1);
  const most = [...states].sort(([, a], [, b]) => b - a).map(([state, n]) => `${count(n)} ${state}`);
  return `${counted(summaries.length, 'connection')}: ${most.join(', ')}`;
}

/** The summaries of connections in their order. @param summary of a connection where the command succeeded */
export function summariesOf<T>(
  ended: readonly Ended<T>[],
  summary: (result: T, connection: ConnectionSettings) => Omit<ConnectionSummary, 'name'>,
): ConnectionSummary[] {
  return ended.map(({ connection, result, failure }) =>
    failure === null
      ? { name: connection.name, ...summary(result, connection) }
      : failedSummary(connection.name, failure.code, failure.message),
  );
}

/** How the result of one connection is printed. */
interface EndedFormat<T> {
  summary(result: T, connection: ConnectionSettings): Omit<ConnectionSummary, 'name'>;
  /** What `--json` says about one connection, without its name. */
  json(result: T, connection: ConnectionSettings): object;
}

/**
 * Prints the ends of a command on several connections, as lines or as one JSON object. A connection where the command
 * itself failed is `{ "name", "exitCode", "error" }`.
 *
 * @returns the worst exit code
 */
export function printEnded<T>(
  ended: readonly Ended<T>[],
  options: SeveralOptions & { readonly json?: boolean },
  { summary, json }: EndedFormat<T>,
): ExitCode {
  const summaries = summariesOf(ended, summary);
  if (options.json === true) {
    const connections = ended.map(({ connection, result, failure }, i) => ({
      name: connection.name,
      exitCode: summaries[i]!.code,
      ...(failure === null ? json(result, connection) : { error: failure.message }),
    }));
    printJson({ connections });
  } else printSummaries(summaries, options);
  return worstExitCode(summaries.map(({ code }) => code));
}

/** Prints a line per connection and, on stderr, the total. */
export function printSummaries(summaries: readonly ConnectionSummary[], options: SeveralOptions): void {
  for (const line of connectionLines(summaries, options, terminalWidth())) output.out(line);
  output.note(totalLine(summaries));
}
