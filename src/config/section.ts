import { z } from 'zod';
import { wrong } from './found.js';
import { didYouMean } from './suggest.js';

/** A map with known keys only; an unknown one is an error that names the nearest known one. */
export function section<const Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKeys(issue.keys, known)
        : wrong(issue.input, `a map with keys out of ${known.join(', ')}`),
  });
}

/** One line a key, in the order of the issue's keys: that is how `problems.ts` takes them apart again. */
function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  return keys
    .map(
      (key) => `unknown key ${JSON.stringify(key)}; allowed: ${known.join(', ')}.${didYouMean(key, known)}`,
    )
    .join('\n');
}
