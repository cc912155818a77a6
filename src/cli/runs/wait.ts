import { duration } from '../shared/options.js';
import { UsageError } from '../shared/usage-error.js';

/** How long a command waits for the runs that it starts. */
export interface WaitOptions {
  readonly timeout?: string;
  /** `false` with `--no-wait`. */
  readonly wait?: boolean;
}

/** The time limit of the waiting in milliseconds; `null` without one. @throws UsageError */
export function readWait({ timeout, wait }: WaitOptions): number | null {
  if (timeout === undefined) return null;
  if (wait === false) throw new UsageError('--timeout and --no-wait exclude each other');
  return duration('--timeout', timeout, '30m or 2h');
}
