import { CommanderError } from 'commander';
import { type ExportResult, FAILURES, type RunError } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { errorMessage, WorktrackError } from '../../core/errors.js';
import { EXIT, type ExitCode, worstExitCode } from '../../core/exit-code.js';
import { InputError } from '../../core/input-error.js';
import { toSystemError } from '../../core/system-error.js';
import { clip, escapedBreaks } from './output.js';

/** The command line is not valid. A message that ends with a period says what to do; to any other, a hint is added. */
export class UsageError extends WorktrackError {
  readonly code = 'USAGE';

  constructor(message: string) {
    const remedy = message.endsWith('.') ? null : 'Add --help to the command to see its options.';
    super(message, { remedy });
  }
}

/** The user pressed Ctrl-C: the command ends, but the run in Temporal continues. */
export class DetachedError extends WorktrackError {
  readonly code = 'DETACHED';
}

/** Runs a rule whose RangeError is the user's mistake, such as a lake that an engine cannot read. @throws UsageError */
export function orUsageError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}

export { EXIT, type ExitCode, worstExitCode };

/**
 * The exit code of an export. A refusal takes precedence, because only a person can resolve it. Otherwise the failed runs
 * decide if they agree.
 */
export function exitCodeOf({ outcome, runs }: ExportResult): ExitCode {
  if (outcome === 'refused' || runs.some((run) => run.outcome === 'refused')) return EXIT.refused;
  if (outcome === 'published' || outcome === 'would-publish') return EXIT.done;
  if (outcome === 'equal') return EXIT.done;
  // Rows that people have changed since, or that the next full read will find, fail nothing.
  if (
    outcome === 'not-compared' &&
    runs.some(({ audit }) => audit && audit.pending + audit.notYetLookedFor > 0)
  )
    return EXIT.done;
  if (outcome === 'not-compared') return EXIT.failed;
  if (outcome === 'different') return EXIT.failed;
  const failed = runs.filter((run) => run.outcome === 'failed');
  const [code = EXIT.failed, ...others] = new Set(failed.map(({ error }) => failureExitCode(error)));
  return others.length === 0 ? code : EXIT.failed;
}

/** The exit code of a batch. A superseded or skipped row is not a failure. */
export function writeBackExitCode({ outcome, error }: Pick<WriteBackResult, 'outcome' | 'error'>): ExitCode {
  if (outcome === 'written') return EXIT.done;
  if (outcome === 'refused') return EXIT.refused;
  return outcome === 'failed' ? failureExitCode(error) : EXIT.failed;
}

function failureExitCode(error: RunError | null): ExitCode {
  return FAILURES[error?.type ?? 'Failed'].exitCode;
}

export interface Failure {
  readonly code: ExitCode;
  /** For stderr; empty if the message was already printed. */
  readonly message: string;
  /** The stable code of the error, if it has one. */
  readonly errorCode?: string;
}

/** Characters of a cell in a message. */
const VALUE_WIDTH = 80;

/**
 * Converts an error to an exit code and a message. Only an unexpected error shows a stack trace, and only with
 * WORKTRACK_DEBUG.
 */
export function failureOf(error: unknown, env: Readonly<Record<string, string | undefined>>): Failure {
  if (error instanceof InputError && error.value !== null) {
    // Only here: a terminal may show what a history must not hold.
    const found = `${error.message}; found ${JSON.stringify(clip(error.value, VALUE_WIDTH))}`;
    const message = [found, error.remedy ?? ''].join('\n').trim();
    return { code: error.exitCode, message, errorCode: error.code };
  }
  if (error instanceof WorktrackError) {
    const { exitCode: code, code: errorCode, remedy } = error;
    const lines = [hasOwnLines(error) ? error.message : escapedBreaks(error.message), remedy ?? ''];
    return { code, message: lines.join('\n').trimEnd(), errorCode };
  }
  // Commander has already printed its message; help and version exit with 0.
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  }
  const message = escapedBreaks(errorMessage(error));
  const system = env.WORKTRACK_DEBUG ? null : toSystemError(error);
  if (system !== null)
    return { code: system.exitCode, message: system.describe('\n'), errorCode: system.code };
  if (!(error instanceof Error)) return { code: EXIT.failed, message };
  if (env.WORKTRACK_DEBUG) return { code: EXIT.failed, message: error.stack ?? message };
  return {
    code: EXIT.failed,
    message: `${message}\nUnexpected error. Set WORKTRACK_DEBUG=1 for a stack trace, and please report it.`,
  };
}

/** Whether the lines of a message are ours: a configuration can have several problems, and texts from outside are quoted there. */
function hasOwnLines(error: WorktrackError): boolean {
  return ['CONFIGURATION', 'USAGE', 'OUT_OF_REACH'].includes(error.code);
}
