import { UsageError } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import type { DiffPrinter } from './dry-run-diff.js';
import type { WaitOptions } from './follow-session.js';
import type { RunCommand } from './start-and-follow.js';

/** The options of commands that print cells: `export --dry-run` and `audit`. */
export interface DiffOptions extends Pick<SeveralOptions, 'json'>, WaitOptions {
  readonly diff?: boolean;
  readonly limit?: string;
  /** The workflow id of a running export. */
  readonly follow?: string;
}

/** @throws UsageError for options that exclude each other */
export function checkDiff({ diff, limit, follow, wait, timeout }: DiffOptions): void {
  if (limit !== undefined && diff !== true) throw new UsageError('--limit needs --diff');
  if (diff !== true) return;
  if (follow !== undefined || wait === false || timeout !== undefined)
    throw new UsageError(
      '--diff needs the command until the run ends: leave out --follow, --no-wait and --timeout',
    );
  readLimit(limit);
}

/** Prints the cells that runs have found, and leaves the keys of their objects out of the results. */
export function diffPrinter(
  { limit, json }: DiffOptions,
  verb: 'would change' | 'differ',
): NonNullable<RunCommand['first']> {
  let printer: DiffPrinter | null = null;
  return async (result, connection) => {
    const module = await import('./dry-run-diff.js');
    printer ??= new module.DiffPrinter(readLimit(limit), json === true, verb);
    await printer.print(result, connection);
    return module.withoutDiffs(result);
  };
}

const DEFAULT_CELLS = 20;
const MAX_CELLS = 10_000;

/** Most cells of a diff. @throws UsageError */
export function readLimit(text = String(DEFAULT_CELLS)): number {
  const cells = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN;
  if (cells <= MAX_CELLS) return cells;
  throw new UsageError(
    `--limit must be a whole number from 1 to ${MAX_CELLS}; found ${JSON.stringify(text)}`,
  );
}
