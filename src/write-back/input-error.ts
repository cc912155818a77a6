import { ConfigurationError } from '../core/configuration-error.js';

/** Where in an input something is wrong; both from 1. */
export interface InputPlace {
  readonly line: number;
  /** In characters. `null` where a whole line is meant. */
  readonly column?: number | null;
}

/**
 * An input that cannot be written back as it is; nothing of it was sent. The message never quotes a value: it may
 * come to stand in a workflow history.
 */
export class InputError extends ConfigurationError {
  static {
    InputError.prototype.name = 'InputError';
  }
  readonly line: number | null;
  readonly column: number | null;

  constructor(problem: string, place: InputPlace | null = null, remedy: string | null = null) {
    super(place === null ? problem : `${where(place)}: ${problem}`, { remedy });
    this.line = place?.line ?? null;
    this.column = place?.column ?? null;
  }
}

function where({ line, column }: InputPlace): string {
  return column === undefined || column === null ? `line ${line}` : `line ${line}, column ${column}`;
}
