import { ConfigurationError } from '../core/errors.js';

/** A table cannot follow the pointer until a person changes something. The message says what. */
export class TableError extends ConfigurationError {}

/** The message for values that do not fit the types of the configuration. It has counts, but no value. */
export function unfitMessage(resource: string, unfit: readonly Unfit[]): string {
  const columns = unfit.map(({ name, type, count }) => `"${name}" (${type}): ${count}`).join(', ');
  return (
    `${resource}: values do not fit the types in tables.types: ${columns}. Correct the types, or set ` +
    'tables.badValues to "clear" to write NULL instead.'
  );
}

/** Values of one column that do not fit its type. */
export interface Unfit {
  readonly name: string;
  readonly type: string;
  readonly count: number;
}
