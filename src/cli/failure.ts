import { EXIT, type ExitCode } from './exit-code.js';

export interface Failure {
  readonly code: ExitCode;
  /** For stderr; empty when all has been said. */
  readonly message: string;
}

/** Store failures that waiting does not mend and a person can. */
const STORE_CONFIGURATION: readonly unknown[] = [
  'access-denied',
  'missing-bucket',
  'bad-credentials',
  'expired-credentials',
  'invalid-key',
  'clock-skew',
];

const OUT_OF_REACH =
  'Check that it is up and that its address is right (`worktrack doctor` tries it); WORKTRACK_REACH_TIMEOUT=5m waits longer.';
const USAGE = 'Add --help to the command to see what it takes.';

/**
 * What an error means to the user of a command. Told apart by name and code, not by class, so that a command which
 * needs none of the heavy modules loads none. Only what nobody foresaw shows a stack, and only when asked.
 */
export function failureOf(error: unknown, env: Readonly<Record<string, string | undefined>>): Failure {
  if (!(error instanceof Error)) return { code: EXIT.failed, message: String(error) };
  const { code, kind, remedy } = error as { code?: unknown; kind?: unknown; remedy?: unknown };
  const withRemedy = typeof remedy === 'string' ? `${error.message}\n${remedy}` : error.message;
  // Commander has said what there is to say; help and version end well.
  if (typeof code === 'string' && code.startsWith('commander.')) {
    const { exitCode } = error as { exitCode?: unknown };
    return { code: exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  }
  if (code === 'OUT_OF_REACH') return { code: EXIT.outOfReach, message: `${error.message}\n${OUT_OF_REACH}` };
  if (code === 'CONFIGURATION') return { code: EXIT.usage, message: withRemedy };
  switch (error.name) {
    case 'DetachedError':
      return { code: EXIT.detached, message: error.message };
    case 'UsageError':
      return {
        code: EXIT.usage,
        message: /\.$/.test(error.message) ? error.message : `${error.message}\n${USAGE}`,
      };
    case 'ServerEnvironmentError':
      return { code: EXIT.usage, message: error.message };
    case 'SnapshotNotFoundError':
      return { code: EXIT.usage, message: withRemedy };
    case 'DamagedError':
      return { code: EXIT.failed, message: error.message };
    case 'ScheduleNotFoundError':
      return { code: EXIT.usage, message: 'There is no schedule yet; `worktrack schedule apply` makes it.' };
    case 'ServerInstallError':
    case 'ServerStartError':
      return { code: EXIT.failed, message: error.message };
    case 'StoreError':
    case 'StoreUnclearError':
    case 'ObjectNotFoundError':
      return {
        code: STORE_CONFIGURATION.includes(kind) ? EXIT.usage : EXIT.failed,
        message: error.message,
      };
  }
  if (env.WORKTRACK_DEBUG) return { code: EXIT.failed, message: error.stack ?? error.message };
  return {
    code: EXIT.failed,
    message: `${error.message}\nNobody foresaw this; with WORKTRACK_DEBUG=1 in the environment the command shows where it happened.`,
  };
}
