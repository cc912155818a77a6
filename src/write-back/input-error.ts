import { ConfigurationError } from '../core/errors.js';

interface InputErrorOptions {
  /** From 1; absent for an error that is not about a line. */
  readonly line?: number;
  /** In characters, from 1; absent for a whole line. */
  readonly column?: number;
  readonly remedy?: string | null;
  /** The text of the cell with the error. */
  readonly value?: string;
}

/**
 * An input with an error; no row of it was sent. The message never quotes a value, because it may be stored in a workflow
 * history. `value` has it, for a person at a terminal.
 */
export class InputError extends ConfigurationError {
  readonly line: number | null;
  readonly column: number | null;
  /** Private, so that an error that is logged as an object does not show it. */
  readonly #value: string | null;

  constructor(problem: string, { line, column, remedy, value }: InputErrorOptions = {}) {
    const where = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    super(line === undefined ? problem : `${where}: ${problem}`, { remedy });
    this.line = line ?? null;
    this.column = column ?? null;
    this.#value = value ?? null;
  }

  /** The text of the cell with the error; `null` if the error is not about one cell. */
  get value(): string | null {
    return this.#value;
  }
}
