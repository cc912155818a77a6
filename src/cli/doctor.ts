import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type Cause, type Examined, examine, ok, problem, worstCause } from '../doctor/index.js';
import { colorsFor } from './colors.js';
import { chosenConnections, readSettings, temporalPlace } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { failureOf } from './failure.js';
import { type GlobalOptions, reachTimeoutMs } from './options.js';
import { output, printJson } from './output.js';
import { counted, table } from './text.js';

/** The longest wait for one answer: who runs a doctor is watching. */
const MOST_WAIT_MS = 10_000;

const EXIT_OF: Readonly<Record<Cause, ExitCode>> = {
  configuration: EXIT.usage,
  refused: EXIT.refused,
  'out-of-reach': EXIT.outOfReach,
  other: EXIT.failed,
};

/** `worktrack doctor`: tries everything that a run relies on; ends with 0 unless something is in the way of one. */
export async function runDoctor(options: GlobalOptions & { readonly json?: boolean }): Promise<ExitCode> {
  const timeoutMs = Math.min(MOST_WAIT_MS, reachTimeoutMs(process.env));
  const [connections, configuration] = readConnections(options);
  const [temporal, environment] = readPlace(options);
  const findings = [
    ...configuration,
    ...environment,
    ...(await examine({ connections, temporal, timeoutMs })),
  ];
  const cause = worstCause(findings);
  if (options.json === true) printJson(doctorJson(findings));
  else for (const line of doctorLines(findings)) output.out(line);
  return cause === null ? EXIT.done : EXIT_OF[cause];
}

/** A configuration that cannot be used is a finding; what needs none is examined all the same. */
function readConnections(options: GlobalOptions): [readonly ConnectionSettings[], Examined[]] {
  try {
    const settings = readSettings(options);
    const connections = chosenConnections(settings, options.connection);
    const what = `${settings.source}: ${counted(settings.connections.length, 'connection')}`;
    return [connections, [{ connection: null, ...ok('configuration', what) }]];
  } catch (error) {
    return [[], [unusable(error)]];
  }
}

function readPlace(options: GlobalOptions): [Parameters<typeof examine>[0]['temporal'], Examined[]] {
  try {
    return [{ ...temporalPlace(options), taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE }, []];
  } catch (error) {
    return [null, [unusable(error)]];
  }
}

function unusable(error: unknown): Examined {
  const { remedy } = error as { remedy?: unknown };
  const said =
    typeof remedy === 'string' ? remedy : 'Correct it; `worktrack config check` reads the file alone.';
  const message = (error instanceof Error ? error.message : failureOf(error, {}).message).trim();
  return { connection: null, ...problem('configuration', 'configuration', message, said) };
}

/** The object that `doctor --json` prints. */
export function doctorJson(findings: readonly Examined[]): object {
  return {
    outcome: stateOf(findings),
    checks: findings.map(({ connection, check, state, message, remedy }) => ({
      connection,
      check,
      state,
      message,
      remedy,
    })),
  };
}

/** A line for each finding, the remedy below it where there is one, and a sum at the end. */
export function doctorLines(findings: readonly Examined[]): string[] {
  const several = new Set(findings.flatMap(({ connection }) => connection ?? [])).size > 1;
  const cells = findings.map(({ state, check, connection, message }) => [
    state,
    check,
    // What a list of problems says in many lines goes below.
    `${several && connection !== null ? `${connection}: ` : ''}${message.split('\n')[0]}`,
  ]);
  const lines = table(cells).flatMap((line, i) => {
    const { state, message, remedy } = findings[i]!;
    const more = [...message.split('\n').slice(1), ...(remedy === null ? [] : remedy.split('\n'))];
    return [paint(state, line), ...more.map((text) => `         ${text.trimEnd()}`)];
  });
  return [...lines, '', summary(findings)];
}

function summary(findings: readonly Examined[]): string {
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  if (problems + warnings === 0) return 'All is well.';
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

function stateOf(findings: readonly Examined[]): Examined['state'] {
  if (findings.some(({ state }) => state === 'problem')) return 'problem';
  return findings.some(({ state }) => state === 'warning') ? 'warning' : 'ok';
}

function paint(state: Examined['state'], line: string): string {
  const { green, yellow, red } = colorsFor(process.stdout);
  const colour = { ok: green, warning: yellow, problem: red }[state];
  return colour(state) + line.slice(state.length);
}
