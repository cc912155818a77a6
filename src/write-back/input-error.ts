import { ConfigurationError } from '../core/errors.js';

/** The position of an error in an input, from 1. */
interface InputPosition {
  readonly line: number;
  /** In characters; `null` for a whole line. */
  readonly column?: number | null;
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

  /** @param details `value`: the text of the cell with the error */
  constructor(
    problem: string,
    position: InputPosition | null = null,
    remedy: string | null = null,
    details: { readonly value?: string } = {},
  ) {
    const { line = null, column = null } = position ?? {};
    const where = column === null ? `line ${line}` : `line ${line}, column ${column}`;
    super(line === null ? problem : `${where}: ${problem}`, { remedy });
    this.line = line;
    this.column = column;
    this.#value = details.value ?? null;
  }

  /** The text of the cell with the error; `null` if the error is not about one cell. */
  get value(): string | null {
    return this.#value;
  }
}
