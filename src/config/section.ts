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

/**
 * A section whose settings have other names than its keys, such as a name with the unit that the file writes with each value.
 *
 * @param names the name of the setting for each key that has another one
 */
export function renamed<
  Section extends z.ZodType<object>,
  const Names extends Readonly<Record<string, string>>,
>(of: Section, names: Names) {
  return of.transform(
    (found) =>
      Object.fromEntries(
        Object.entries(found).map(([key, value]) => [Object.hasOwn(names, key) ? names[key] : key, value]),
      ) as Renamed<z.output<Section>, Names>,
  );
}

type Renamed<T, Names> = { [Key in keyof T as Key extends keyof Names ? Names[Key] & string : Key]: T[Key] };

/** One line per key, in the order of the issue's keys; `problems.ts` splits the lines again. */
function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  return keys
    .map(
      (key) => `unknown key ${JSON.stringify(key)}; allowed: ${known.join(', ')}.${didYouMean(key, known)}`,
    )
    .join('\n');
}
