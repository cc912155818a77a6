import { readFileSync } from 'node:fs';
import { settingsToPaste } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { errorMessage, WorktrackError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import type { ConnectionSettings } from '../../core/settings.js';
import {
  type Cause,
  type ConnectionFinding,
  isEmpty,
  ok,
  problem,
  runChecks,
  type Suggestions,
  tryService,
  worstCause,
} from '../../doctor/index.js';
import type { WorkerDifference } from '../../temporal/status/workers.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { type GlobalOptions, reachTimeoutMs, type SeveralOptions } from '../shared/command-options.js';
import { readDataConverter, temporalTarget } from '../shared/context.js';
import { readSettings, selectConnections } from '../shared/each-connection.js';
import {
  colorsFor,
  counted,
  cut,
  escapedBreaks,
  output,
  printable,
  printJson,
  table,
  terminalHeight,
  terminalWidth,
  wrap,
} from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';
import { describeDifference } from '../shared/worker-config.js';

/** Time limit of one check. It is short because the user is waiting. */
const CHECK_TIMEOUT_MS = 10_000;

const EXIT_OF: Readonly<Record<Cause, ExitCode>> = {
  configuration: EXIT.usage,
  refused: EXIT.refused,
  'out-of-reach': EXIT.outOfReach,
  other: EXIT.failed,
};

/** `worktrack doctor`: checks everything a run depends on; exits with 0 unless a check finds a problem. */
export async function runDoctor(
  options: SeveralOptions & { readonly tryService?: boolean },
): Promise<ExitCode> {
  const timeoutMs = Math.min(CHECK_TIMEOUT_MS, reachTimeoutMs(process.env));
  const [connections, configuration, source] = readConnections(options);
  const [temporal, environment] = await readPlace(options, source);
  const checked = [
    ...configuration,
    ...environment,
    ...(await runChecks({ connections, temporal, timeoutMs })),
  ];
  const trials =
    options.tryService === true ? await tryServices(connections, checked, source, timeoutMs) : null;
  const findings = [...checked, ...(trials ?? []).flatMap((trial) => trial.findings)];
  const cause = worstCause(findings);
  if (options.json === true) printJson(doctorJson(findings, trials));
  else {
    for (const line of linesFor(findings, connections.length, options)) output.styled(line);
    // Not wrapped: it is pasted into a file.
    for (const trial of trials ?? []) output.source(settingsToAdd(trial, source));
  }
  return cause === null ? EXIT.done : EXIT_OF[cause];
}

interface Trial {
  readonly connection: string;
  readonly findings: readonly ConnectionFinding[];
  readonly suggestions: Suggestions;
  /** The suggestions as YAML, empty if nothing needs to change. */
  readonly yaml: string;
}

/** Tries the services in turn, unless their key or their address does not work. @param source the configuration file */
async function tryServices(
  connections: readonly ConnectionSettings[],
  checked: readonly ConnectionFinding[],
  source: string,
  timeoutMs: number,
): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const connection of connections) {
    const { name } = connection;
    const fails = checked.some(
      (one) => one.connection === name && one.state === 'problem' && ['key', 'service'].includes(one.check),
    );
    if (fails) continue;
    output.note(`Trying the service of ${name}; this can take some minutes.`);
    const { findings, suggestions } = await tryService(connection, timeoutMs);
    trials.push({
      connection: name,
      suggestions,
      findings: findings.map((one) => ({ connection: name, ...one })),
      yaml: settingsToPaste(readFileSync(source, 'utf8'), name, suggestions),
    });
  }
  return trials;
}

function settingsToAdd({ connection, suggestions, yaml }: Trial, source: string): string {
  if (isEmpty(suggestions)) return `\n${connection}: the settings fit the service.`;
  const where = `connections.${connection} in ${escapedBreaks(source)}`;
  return `\n# Settings that follow: replace these keys of ${where}.\n${yaml.trimEnd()}`;
}

/** With more connections, the findings of all do not fit on one screen. */
const MAX_IN_FULL = 3;

function linesFor(
  findings: readonly ConnectionFinding[],
  connections: number,
  { failing, details }: SeveralOptions,
): string[] {
  const size = { width: terminalWidth(), height: terminalHeight() };
  const shown = failing === true ? findings.filter(({ state }) => state !== 'ok') : findings;
  const isFull = failing === true || details === true || connections <= MAX_IN_FULL;
  return isFull ? doctorLines(shown, size.width) : doctorScreen(findings, size);
}

/** An invalid configuration is a finding; the checks that need no configuration still run. */
function readConnections(
  options: SeveralOptions,
): [readonly ConnectionSettings[], ConnectionFinding[], source: string] {
  try {
    const settings = readSettings(options);
    const connections = selectConnections(settings, options);
    const what = `${settings.source}: ${counted(settings.connections.length, 'connection')}`;
    return [connections, [{ connection: null, ...ok('configuration', what) }], settings.source];
  } catch (error) {
    return [[], [invalidConfiguration(error)], ''];
  }
}

async function readPlace(
  options: GlobalOptions,
  source: string,
): Promise<[Parameters<typeof runChecks>[0]['temporal'], ConnectionFinding[]]> {
  try {
    const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
    const describe = (found: WorkerDifference) => describeDifference(found, { source, now: Date.now() });
    const dataConverter = await readDataConverter(options);
    return [{ ...temporalTarget(options), taskQueue, dataConverter, describe }, []];
  } catch (error) {
    return [null, [invalidConfiguration(error)]];
  }
}

function invalidConfiguration(error: unknown): ConnectionFinding {
  const remedy = error instanceof WorktrackError ? error.remedy : null;
  const text = remedy ?? 'Correct the file and check it with `worktrack config check`.';
  return { connection: null, ...problem('configuration', 'configuration', errorMessage(error).trim(), text) };
}

/** The object that `doctor --json` prints. @param trials `null` without `--try-service` */
function doctorJson(findings: readonly ConnectionFinding[], trials: readonly Trial[] | null): object {
  const settings = trials?.map(({ connection, suggestions, yaml }) => [connection, { ...suggestions, yaml }]);
  return {
    ...(settings === undefined ? {} : { settings: Object.fromEntries(settings) }),
    outcome: WORST_FIRST.find((state) => findings.some((one) => one.state === state)) ?? 'ok',
    checks: findings.map(({ connection, check, state, message, remedy }) => {
      return { connection, check, state, message, remedy };
    }),
  };
}

const WORST_FIRST = ['problem', 'warning'] as const;

/** Indentation below a state. */
const BELOW = '         ';

/** A line for each finding with its remedy below, and a summary at the end. */
export function doctorLines(findings: readonly ConnectionFinding[], width: number): string[] {
  const several = new Set(findings.flatMap(({ connection }) => connection ?? [])).size > 1;
  const used = new Set<string>();
  const rows = findings.map((finding): Row => {
    const { connection, message } = finding;
    const [first = '', ...more] = linesOf(finding, message);
    const prefix = several && connection !== null ? `${connection}: ` : '';
    const name = lineName(finding, used);
    return {
      finding,
      name,
      text: `${prefix}${withoutSubject(finding, first)}`,
      below: [...more, ...remedyLines(finding)],
    };
  });
  return [...rendered(rows, width), '', summary(findings)];
}

/**
 * One screen about many connections: findings about all of them, then one line per check and state, with the first message
 * and remedy of each problem.
 */
export function doctorScreen(
  findings: readonly ConnectionFinding[],
  { width, height }: { readonly width: number; readonly height: number },
): string[] {
  const groups = groupBy(findings, (finding) => {
    const { connection, state, check } = finding;
    return connection === null ? `${findings.indexOf(finding)}` : `${state} ${check}`;
  });
  const rows = [...groups.values()].map(rowOf);
  const end = ['', summary(findings), 'Details: --connection NAME, --failing, or --details for all.'];
  const all = [...rendered(rows, width), ...end];
  if (all.length < height) return all;
  const important = rows.filter(({ finding }) => finding.state !== 'ok');
  const lines = rendered(important, width);
  return [...lines.slice(0, Math.max(1, height - 1 - end.length)), ...end];
}

/** Longest subject in the name of a line. */
const MAX_SUBJECT = 30;

/** The name of a finding's line, which no other line about its connection has. */
function lineName({ connection, check, subject }: ConnectionFinding, used: Set<string>): string {
  const of = subject === undefined ? [] : [cut(printable(escapedBreaks(subject)), MAX_SUBJECT)];
  for (let count = 1; ; count++) {
    const words = [...of, ...(count === 1 ? [] : [String(count)])];
    const name = words.length === 0 ? check : `${check} (${words.join(', ')})`;
    if (used.has(`${connection} ${name}`)) continue;
    used.add(`${connection} ${name}`);
    return name;
  }
}

function withoutSubject({ subject }: ConnectionFinding, text: string): string {
  return subject !== undefined && text.startsWith(`${subject}: `) ? text.slice(subject.length + 2) : text;
}

interface Row {
  readonly finding: ConnectionFinding;
  /** The name in its line. */
  readonly name: string;
  readonly text: string;
  readonly below: readonly string[];
}

function rowOf(group: readonly ConnectionFinding[]): Row {
  const [finding] = group as [ConnectionFinding, ...ConnectionFinding[]];
  const { connection, state, message, check: name } = finding;
  const [first = ''] = linesOf(finding, message);
  if (connection === null) return { finding, name, text: first, below: remedyLines(finding) };
  const names = [...new Set(group.map((one) => one.connection))];
  const text = counted(names.length, 'connection');
  if (state === 'ok') return { finding, name, text, below: [] };
  const such = names.length === 1 ? first : `such as ${connection}: ${first}`;
  const of = names.length === 1 ? connection : text;
  return { finding, name, text: of, below: [such, ...remedyLines(finding)] };
}

function remedyLines(finding: ConnectionFinding): string[] {
  return finding.remedy === null ? [] : linesOf(finding, finding.remedy);
}

/**
 * Only the check of the configuration has texts of several lines: one for each of its errors. Other texts contain words of the
 * service and names from the lake, whose line breaks must not begin a line.
 */
function linesOf({ check }: ConnectionFinding, text: string): string[] {
  return check === 'configuration' ? text.split('\n') : [escapedBreaks(text)];
}

/** A table of state, check and text. The text and what follows are wrapped, because causes must stay readable. */
function rendered(rows: readonly Row[], width: number): string[] {
  const cells = rows.map(({ finding: { state }, name }) => [state, name]);
  const heads = table(cells.map((row) => [...row, '|'])).map((line) => line.slice(0, -1));
  return rows.flatMap(({ finding: { state }, text, below }, i) => {
    const head = heads[i]!;
    const line = `${head}${printable(text)}`;
    // A text that does not fit next to its check starts on the line after it.
    const [first, more] =
      line.length <= width || width <= head.length ? [line, []] : [head.trimEnd(), wrapBelow(text, width)];
    return [paint(state, cut(first, width)), ...more, ...below.flatMap((one) => wrapBelow(one, width))];
  });
}

function wrapBelow(text: string, width: number): string[] {
  return wrap(`${BELOW}${printable(runnableHere(text)).trimEnd()}`, width);
}

function summary(findings: readonly ConnectionFinding[]): string {
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  if (problems + warnings === 0) return 'No problems found.';
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

function paint(state: ConnectionFinding['state'], line: string): string {
  const { green, yellow, red } = colorsFor(process.stdout);
  const colour = { ok: green, warning: yellow, problem: red }[state];
  return colour(state) + line.slice(state.length);
}
