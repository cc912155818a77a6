import { JsonType } from '../../src/core/value-facts.js';

/** The set of JSON types in `Column.types`. */
export function typeBits(names: readonly string[]): number {
  return names.reduce((bits, name) => bits | JsonType[name as keyof typeof JsonType], 0);
}
