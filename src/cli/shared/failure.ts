import { EXIT, type ExitCode } from './exit-code.js';

export interface Failure {
  readonly code: ExitCode;
  /** For stderr; empty if the message was already printed. */
  readonly message: string;
}

/** Store failures that the user has to fix; waiting does not help. */
const STORE_CONFIGURATION: readonly unknown[] = [
  'access-denied',
  'missing-bucket',
  'bad-credentials',
  'expired-credentials',
  'invalid-key',
  'clock-skew',
];

const OUT_OF_REACH =
  'Check that it is running and that its address is correct (`worktrack doctor` checks both). To wait longer, set WORKTRACK_REACH_TIMEOUT=5m.';
const USAGE = 'Add --help to the command to see its options.';

/**
 * Converts an error to an exit code and a message. It compares names and codes and not classes, so that a command does not
 * load modules that it does not need. Only an unexpected error shows a stack trace, and only with WORKTRACK_DEBUG.
 */
export function failureOf(error: unknown, env: Readonly<Record<string, string | undefined>>): Failure {
  if (!(error instanceof Error)) return { code: EXIT.failed, message: String(error) };
  const { code, kind, remedy } = error as { code?: unknown; kind?: unknown; remedy?: unknown };
  const withRemedy = typeof remedy === 'string' ? `${error.message}\n${remedy}` : error.message;
  // Commander has already printed its message; help and version exit with 0.
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
      return {
        code: EXIT.usage,
        message: 'There is no schedule yet; create it with: worktrack schedule apply',
      };
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
    message: `${error.message}\nUnexpected error. Set WORKTRACK_DEBUG=1 for a stack trace, and please report it.`,
  };
}
