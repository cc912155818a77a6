import { WorktrackError } from './errors.js';

/**
 * An argument of a function of this package is not valid. Nothing was started or changed.
 *
 * @example
 * try {
 *   await startBackfill(temporal, { connection: 'acme', since: 'yesterday' });
 * } catch (error) {
 *   if (error instanceof InvalidArgumentError) console.error(error.argument, error.message);
 * }
 */
export class InvalidArgumentError extends WorktrackError {
  readonly code = 'INVALID_ARGUMENT';
  /** The name of the argument or field. */
  readonly argument: string;

  constructor(argument: string, problem: string, remedy: string | null = null) {
    super(`${argument} ${problem}.`, { remedy });
    this.argument = argument;
  }
}
