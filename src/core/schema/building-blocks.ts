import { z } from 'zod';
import type { Millis } from '../brands.js';
import { formatBytes, parseBytes } from '../bytes.js';
import { formatDuration, parseDuration } from '../duration.js';
import { didYouMean } from '../suggest.js';
import { describeFound, invalidValue } from './values.js';

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

/**
 * A string that `read` converts to a value.
 *
 * @param allowed what is allowed, for the message about a value that is not a string
 * @param read throws a RangeError with a complete message for an invalid string
 * @param hint text to append to the message about a value that is not a string
 * @param title name of the type in the JSON Schema and in the reference
 */
export function parsedString<T>(
  allowed: string,
  read: (text: string) => T,
  hint: (value: unknown) => string = () => '',
  title?: string,
) {
  return z
    .string({ error: (issue) => invalidValue(issue.input, allowed) + hint(issue.input) })
    .meta(title === undefined ? {} : { title })
    .transform((text, context) => converted(text, read, context));
}

/**
 * Any value that `read` converts by hand, with separate messages. They never repeat the value unless `read` does.
 *
 * @param read throws a RangeError with a complete message for an invalid value
 * @param meta how the JSON Schema and the reference describe it
 */
export function parsedValue<T>(read: (value: unknown) => T, meta: z.core.GlobalMeta) {
  return z
    .unknown()
    .meta(meta)
    .transform((value, context) => converted(value, read, context));
}

function converted<Found, T>(value: Found, read: (value: Found) => T, context: z.core.ParsePayload): T {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.issues.push({ code: 'custom', message: error.message, input: undefined });
    return z.NEVER;
  }
}

/**
 * A problem that a refinement found, at a path within its value. Unlike a text alone, it does not keep zod from checking
 * the rest: all problems are reported together.
 */
export function issueAt(message: string, ...path: (string | number)[]) {
  return { code: 'custom', message, path } as const;
}

interface DurationOptions {
  /** The unit to suggest for a number without a unit. */
  readonly unit: 'ms' | 's' | 'm' | 'h' | 'd';
  readonly min?: Millis;
  readonly max?: number;
}

/** A duration in milliseconds. */
export function duration(options: DurationOptions) {
  return parsedString(
    'a duration such as 90d, 6h, 5m or 30s',
    (text) => readDuration(text, options),
    (value) => unitHint(value, options.unit),
    `duration${bounds(options)}`,
  );
}

/** A duration in milliseconds, or `null` for the given word (`none`, `never`). */
export function durationOr(word: string, options: DurationOptions) {
  const allowed = `a duration such as 90d, 6h or 5m, or ${word}`;
  return parsedString(
    allowed,
    (text): number | null => (text === word ? null : readDuration(text, options, `, or ${word}`)),
    (value) => unitHint(value, options.unit),
    `duration${bounds(options)}, or ${word}`,
  );
}

/** A number of bytes from a size such as `64MiB`. */
export function byteSize(min: number, max: number) {
  return parsedString(
    'a size such as 64MiB or 8MB',
    (text) => {
      const bytes = parseFound(text, parseBytes);
      if (bytes >= min && bytes <= max) return bytes;
      throw new RangeError(invalidValue(text, `a size from ${formatBytes(min)} to ${formatBytes(max)}`));
    },
    (value) => (typeof value === 'number' ? `. A size needs a unit. Did you mean ${value}MiB?` : ''),
    `size, ${formatBytes(min)} to ${formatBytes(max)}`,
  );
}

/** One of some words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  const allowed = words.join(', ');
  return z.enum(words, {
    error: ({ input }) => {
      const suggestion = typeof input === 'string' ? didYouMean(input, words) : '';
      return invalidValue(input, allowed) + (suggestion && `.${suggestion}`);
    },
  });
}

/** A setting that is `null` if its key is absent. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().transform((found) => found ?? null);
}

/** `true` or `false`; YAML 1.2 reads `yes` and `on` as strings. */
export function flag() {
  return z.boolean({
    error: ({ input }) => {
      const word = typeof input === 'string' ? input.toLowerCase() : '';
      const suggestion = /^(yes|on|true)$/.test(word) ? 'true' : /^(no|off|false)$/.test(word) ? 'false' : '';
      return (
        invalidValue(input, 'true or false (without quotes)') +
        (suggestion && `. Did you mean ${suggestion}?`)
      );
    },
  });
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number) {
  const error = ({ input }: { readonly input?: unknown }) =>
    invalidValue(input, `a whole number from ${min} to ${max}`) +
    (typeof input === 'string' && /^\d+$/.test(input) ? '. Remove the quotes.' : '');
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/**
 * A string of a form.
 *
 * @param allowed what is allowed, for the message about an invalid string
 * @param what the same for a value that is not a string. Default: `allowed`
 */
export function formed(allowed: string, form: RegExp, what = allowed) {
  return parsedString(what, (text) => {
    if (form.test(text)) return text;
    throw new RangeError(invalidValue(text, allowed));
  });
}

/** A non-empty string without control characters. */
export function singleLine(what: string, maxLength = 1024) {
  return formed(what, new RegExp(`^[^\\u0000-\\u001f\\u007f]{1,${maxLength}}$`));
}

/** The name of a field of the service's records. */
export const fieldName = singleLine('the name of a field');

export const anyFieldNames = z.array(fieldName, {
  error: ({ input }) => invalidValue(input, 'a list of field names'),
});

export const fieldNames = anyFieldNames.min(1, {
  error: 'found an empty list; allowed: at least one field name',
});

/** A map of the file without a prototype, because a key may be named `constructor`. */
export function withoutPrototype<T extends object>(map: T): T {
  return Object.assign(Object.create(null), map);
}

/** Whether a string contains C0 control characters or DEL, which names, paths and headers must not contain. */
export function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  return /[\u0000-\u001f\u007f]/.test(text);
}

function bounds({ min = 0, max = Number.MAX_SAFE_INTEGER }: DurationOptions): string {
  const least = min > 1 ? formatDuration(min) : '';
  if (max === Number.MAX_SAFE_INTEGER) return least && `, at least ${least}`;
  return least ? `, ${least} to ${formatDuration(max)}` : `, at most ${formatDuration(max)}`;
}

function readDuration(
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: DurationOptions,
  also = '',
): number {
  const ms = parseFound(text, parseDuration, also);
  if (ms < min)
    throw new RangeError(`found ${describeFound(text)}; allowed: ${formatDuration(min)} or longer${also}`);
  if (ms > max)
    throw new RangeError(`found ${describeFound(text)}; allowed: up to ${formatDuration(max)}${also}`);
  return ms;
}

function parseFound(text: string, parse: (text: string) => number, also = ''): number {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`${error.message}${also}${dateHint(text)}`);
    throw error;
  }
}

function dateHint(text: string): string {
  return /^\d{4}-\d\d-\d\d/.test(text) ? '. A date is not a duration; write how far back it reaches' : '';
}

function unitHint(value: unknown, unit: string): string {
  return typeof value === 'number' ? `. A duration needs a unit. Did you mean ${value}${unit}?` : '';
}
