import { ConfigurationError } from '../core/configuration-error.js';

/** The position of an error in an input, from 1. */
interface InputPosition {
  readonly line: number;
  /** In characters; `null` for a whole line. */
  readonly column?: number | null;
}

/**
 * An input with an error; no row of it was sent. The message never quotes a value, because it may be stored in a workflow
 * history.
 */
export class InputError extends ConfigurationError {
  readonly line: number | null;
  readonly column: number | null;

  constructor(problem: string, position: InputPosition | null = null, remedy: string | null = null) {
    super(position === null ? problem : `${where(position)}: ${problem}`, { remedy });
    this.line = position?.line ?? null;
    this.column = position?.column ?? null;
  }
}

function where({ line, column }: InputPosition): string {
  return column === undefined || column === null ? `line ${line}` : `line ${line}, column ${column}`;
}
