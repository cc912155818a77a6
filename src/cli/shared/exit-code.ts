import type { ExportResult } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';

/** Exit codes (docs/reference/exit-codes.md). */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  outOfReach: 4,
  /** 128 + SIGINT, as in shells: the command ended, but the run continues. */
  detached: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of an export. A refusal takes precedence, because only a person can resolve it. */
export function exitCodeOf({ outcome, runs }: ExportResult): ExitCode {
  if (outcome === 'refused' || runs.some((run) => run.outcome === 'refused')) return EXIT.refused;
  if (outcome === 'published') return EXIT.done;
  const failed = runs.filter((run) => run.outcome === 'failed');
  const configuration = failed.length > 0 && failed.every((run) => run.error?.type === 'Configuration');
  return configuration ? EXIT.usage : EXIT.failed;
}

/** The exit code of a batch. A superseded or skipped row is not a failure. */
export function writeBackExitCode({ outcome, error }: Pick<WriteBackResult, 'outcome' | 'error'>): ExitCode {
  if (outcome === 'written') return EXIT.done;
  if (outcome === 'refused') return EXIT.refused;
  return outcome === 'failed' && error?.type === 'Configuration' ? EXIT.usage : EXIT.failed;
}
