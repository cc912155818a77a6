import { DAY_MS } from '../../core/duration.js';
import { duration } from '../shared/options.js';
import { UsageError } from '../shared/usage-error.js';

/** A longer timer of Node would end at once. */
const MAX_WAIT_MS = 24 * DAY_MS;

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
  const ms = duration('--timeout', timeout, '30m or 2h');
  if (ms > MAX_WAIT_MS) throw new UsageError('--timeout must be at most 24d');
  return ms;
}
