import type { Millis, RunId } from '../../core/brands.js';
import { MINUTE_MS, parseDuration } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import { isRunId } from '../../core/run-id.js';
import { UsageError } from './choose-exit-code.js';

export interface GlobalOptions {
  readonly config?: string;
  /** The connection, for a command that takes one; the last one of several. */
  readonly connection?: string;
  /** Every `--connection`, for a command that takes several. */
  readonly connections?: readonly string[];
  readonly address?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
  /** Path of a module. */
  readonly dataConverter?: string;
  readonly traces?: boolean;
  /** Of commands that can print one JSON object. */
  readonly json?: boolean;
}

export interface SeveralOptions extends GlobalOptions {
  readonly all?: boolean;
  /** Resources in the arguments, of commands that take them. */
  readonly resource?: readonly string[];
  readonly failing?: boolean;
  readonly details?: boolean;
}

/** Whether the command prints one line per connection: the form depends on the options, not on the number in the file. */
export function isSeveral({ all, connections = [] }: SeveralOptions): boolean {
  return all === true || connections.length > 1;
}

/** A whole number of at least 1. @throws UsageError */
export function positive(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a whole number, at least 1; found ${JSON.stringify(text)}`);
}

/** A run id. @throws UsageError */
export function runIdOption(option: string, text: string): RunId {
  if (isRunId(text)) return text;
  throw new UsageError(
    `${option} must be a run id such as 20261121T020000Z-1a2b3c4d; found ${JSON.stringify(text)}`,
  );
}

/** What `parse` makes of the text of an option or variable. @throws UsageError with the reason that `parse` throws */
export function parsed<T>(option: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${option}: ${errorMessage(error)}`);
  }
}

/** A duration longer than zero. @param example such as `26h or 8d` @throws UsageError */
export function durationOption(option: string, text: string, example: string): Millis {
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch {
    // The message below is the same for both.
  }
  throw new UsageError(`${option} must be a duration such as ${example}; found ${JSON.stringify(text)}`);
}

/**
 * How long to retry a server that does not answer: `WORKTRACK_REACH_TIMEOUT`, by default one minute
 * (docs/reference/environment.md).
 *
 * @throws UsageError
 */
export function reachTimeoutMs({
  WORKTRACK_REACH_TIMEOUT: text,
}: Readonly<Record<string, string | undefined>>): number {
  return text ? parsed('WORKTRACK_REACH_TIMEOUT', text, parseDuration) : MINUTE_MS;
}
