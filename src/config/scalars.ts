import { z } from 'zod';
import { formatBytes, parseBytes } from '../core/bytes.js';
import { formatDuration, parseDuration } from '../core/duration.js';
import { describeFound, wrong } from './found.js';
import { didYouMean } from './suggest.js';

/**
 * A text that `read` turns into a value. `read` throws a RangeError with a whole message; `allowed` serves for
 * values that are no text at all; `hint` may say more about those. `title` names the kind of text in the JSON Schema
 * and in the reference.
 */
export function readable<T>(
  allowed: string,
  read: (text: string) => T,
  hint: (value: unknown) => string = () => '',
  title?: string,
) {
  return z
    .string({ error: (issue) => wrong(issue.input, allowed) + hint(issue.input) })
    .meta(title === undefined ? {} : { title })
    .transform((text, context): T => {
      try {
        return read(text);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        context.issues.push({ code: 'custom', message: error.message, input: text });
        return z.NEVER;
      }
    });
}

/** What a duration may be besides a duration, and its bounds in milliseconds. */
export interface DurationOptions {
  /** The unit that a bare number is taken to lack, for the hint. */
  readonly unit: 'ms' | 's' | 'm' | 'h' | 'd';
  readonly min?: number;
  readonly max?: number;
}

/** A duration in milliseconds. */
export function duration(options: DurationOptions) {
  return readable(
    'a duration such as 90d, 6h, 5m or 30s',
    (text) => readDuration(text, options),
    (value) => unitHint(value, options.unit),
    `duration${bounds(options)}`,
  );
}

/** A duration in milliseconds, or `null` for the given word (`none`, `never`). */
export function durationOr(word: string, options: DurationOptions) {
  const allowed = `a duration such as 90d, 6h or 5m, or ${word}`;
  return readable(
    allowed,
    (text): number | null => (text === word ? null : readDuration(text, options, `, or ${word}`)),
    (value) => unitHint(value, options.unit),
    `duration${bounds(options)}, or ${word}`,
  );
}

/** A number of bytes from `64MiB` and the like. */
export function byteSize(min: number, max: number) {
  return readable(
    'a size such as 64MiB or 8MB',
    (text) => {
      const bytes = parseFound(text, parseBytes);
      if (bytes >= min && bytes <= max) return bytes;
      throw new RangeError(wrong(text, `a size from ${formatBytes(min)} to ${formatBytes(max)}`));
    },
    (value) => (typeof value === 'number' ? `. A size needs a unit. Did you mean ${value}MiB?` : ''),
    `size, ${formatBytes(min)} to ${formatBytes(max)}`,
  );
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  const allowed = words.join(', ');
  return z.enum(words, {
    error: ({ input }) => {
      const meant = typeof input === 'string' ? didYouMean(input, words) : '';
      return wrong(input, allowed) + (meant && `.${meant}`);
    },
  });
}

/** `true` or `false`; YAML 1.2 reads `yes` and `on` as texts. */
export function flag() {
  return z.boolean({
    error: ({ input }) => {
      const word = typeof input === 'string' ? input.toLowerCase() : '';
      const meant = /^(yes|on|true)$/.test(word) ? 'true' : /^(no|off|false)$/.test(word) ? 'false' : '';
      return wrong(input, 'true or false (without quotes)') + (meant && `. Did you mean ${meant}?`);
    },
  });
}

/** A whole number within bounds. */
export function count(min: number, max: number) {
  const error = ({ input }: { readonly input?: unknown }) =>
    wrong(input, `a whole number from ${min} to ${max}`) +
    (typeof input === 'string' && /^\d+$/.test(input) ? '. Leave the quotes out.' : '');
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** A text with at least one character and no control characters. */
export function line(what: string, longest = 1024) {
  return readable(what, (text) => {
    if (text.length === 0 || text.length > longest || hasControls(text))
      throw new RangeError(wrong(text, what));
    return text;
  });
}

/** Whether a text holds C0 controls or DEL, which no name, path or header may. */
export function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
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
    if (error instanceof RangeError) throw new RangeError(`found ${error.message}${also}${dateHint(text)}`);
    throw error;
  }
}

function dateHint(text: string): string {
  return /^\d{4}-\d\d-\d\d/.test(text) ? '. A date is no duration: write how far back it reaches' : '';
}

function unitHint(value: unknown, unit: string): string {
  return typeof value === 'number' ? `. A duration needs a unit. Did you mean ${value}${unit}?` : '';
}
