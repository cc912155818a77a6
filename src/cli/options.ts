import { parseDuration } from '../core/duration.js';
import { UsageError } from './usage-error.js';

/** Options that every command takes. */
export interface GlobalOptions {
  readonly config?: string;
  readonly connection?: string;
  readonly address?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
  /** Path of a module. */
  readonly dataConverter?: string;
  readonly traces?: boolean;
}

/** For options that may be given more than once. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** A whole number of at least 1. @throws UsageError */
export function positive(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a whole number from 1 on; found ${JSON.stringify(text)}`);
}

/**
 * How long to try for a server that does not answer: a minute (DESIGN 5), or what `WORKTRACK_REACH_TIMEOUT` says.
 *
 * @throws UsageError
 */
export function reachTimeoutMs(env: Readonly<Record<string, string | undefined>>): number {
  const text = env.WORKTRACK_REACH_TIMEOUT;
  if (text === undefined || text === '') return 60_000;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(
      `WORKTRACK_REACH_TIMEOUT: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
