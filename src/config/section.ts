import { z } from 'zod';
import { didYouMean } from '../core/suggest.js';
import { invalidValue } from './values.js';

/** A map with known keys only. The error for an unknown key suggests the most similar known key. */
export function section<const Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKeys(issue.keys, known)
        : invalidValue(issue.input, `a map with the keys ${known.join(', ')}`),
  });
}

/** One line per key, in the order of the issue's keys; `problems.ts` splits the lines again. */
function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  return keys
    .map(
      (key) => `unknown key ${JSON.stringify(key)}; allowed: ${known.join(', ')}.${didYouMean(key, known)}`,
    )
    .join('\n');
}
