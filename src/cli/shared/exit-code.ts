import { type ExportResult, FAILURES, type RunError } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { EXIT, type ExitCode, worstExitCode } from '../../core/exit-code.js';

export { EXIT, type ExitCode, worstExitCode };

/**
 * The exit code of an export. A refusal takes precedence, because only a person can resolve it. Otherwise the failed runs
 * decide if they agree.
 */
export function exitCodeOf({ outcome, runs }: ExportResult): ExitCode {
  if (outcome === 'refused' || runs.some((run) => run.outcome === 'refused')) return EXIT.refused;
  if (outcome === 'published') return EXIT.done;
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
