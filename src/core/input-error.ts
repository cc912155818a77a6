import { ConfigurationError } from './errors.js';

interface InputErrorOptions {
  /** From 1; absent for an error that is not about a line. */
  readonly line?: number;
  /** In characters, from 1; absent for a whole line. */
  readonly column?: number;
  readonly remedy?: string | null;
  /** The text of the cell with the error. */
  readonly value?: string;
  /** What an option of the command could put right. */
  readonly about?: ErrorTopic;
  /** The problem without what differs between errors of its kind. Default: the problem. */
  readonly kind?: string;
}

/** What an error is about, as far as an option of the command may put it right (`proposeOptions`). */
export type ErrorTopic =
  | {
      /** A cell that is not what the values of its column are. */
      readonly kind: 'integer' | 'number' | 'boolean';
      /** The field. */
      readonly column: string;
    }
  /** A cell that is no date or time, and which of both the column must have; `null`: not known. */
  | {
      readonly kind: 'time';
      readonly column: string;
      readonly form: 'date' | 'time' | 'date or time' | null;
    }
  /** `zone`: a time without one; `encoding`: bytes that are not UTF-8; `pairs`: calendar entries with one key and other content. */
  | { readonly kind: 'zone' | 'encoding' | 'pairs' }
  /** Columns that must be left out. */
  | { readonly kind: 'drop'; readonly columns: readonly string[] };

/**
 * An input with an error; no row of it was sent. The message never quotes a value, because it may be stored in a workflow
 * history. `value` has it, for a person at a terminal.
 */
export class InputError extends ConfigurationError {
  /** What is wrong, without the place. Errors of one kind have the same. */
  readonly kind: string;
  readonly about: ErrorTopic | null;
  readonly line: number | null;
  readonly column: number | null;
  /** Private, so that an error that is logged as an object does not show it. */
  readonly #value: string | null;

  constructor(problem: string, { line, column, remedy, value, about, kind }: InputErrorOptions = {}) {
    const where = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    super(line === undefined ? problem : `${where}: ${problem}`, { remedy });
    this.kind = kind ?? problem;
    this.about = about ?? null;
    this.line = line ?? null;
    this.column = column ?? null;
    this.#value = value ?? null;
  }

  /** The text of the cell with the error; `null` if the error is not about one cell. */
  get value(): string | null {
    return this.#value;
  }
}
