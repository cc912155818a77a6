import { InputError } from './input-error.js';

/** Delimiters that are found in a header. */
export const DELIMITERS = [',', ';', '\t', '|'] as const;

const NAMES: Readonly<Record<string, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' };

/** A delimiter for messages. */
export function shownDelimiter(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : JSON.stringify(delimiter);
}

/** Reads the value of `--delimiter`: the character, or its name. @throws InputError for any other text */
export function delimiterOf(text: string): string {
  const named = text === '\\t' ? '\t' : DELIMITERS.find((one) => NAMES[one] === text.toLowerCase());
  const found = named ?? DELIMITERS.find((one) => one === text);
  if (found !== undefined) return found;
  throw new InputError(
    `${JSON.stringify(text)} is not a delimiter`,
    null,
    'The delimiters are "," ";" "tab" and "|".',
  );
}

const SEP_LINE = /^"?sep=(.)"?$/i;

/** The delimiter in a line such as `sep=;`, which Excel writes and reads; `null` for any other line. */
export function sepLine(line: string): string | null {
  return SEP_LINE.exec(line)?.[1] ?? null;
}

/**
 * Finds the delimiter of a CSV in its beginning: in a `sep=` line, or in the header, outside of quotes. A header without
 * any delimiter has one column.
 *
 * @param more a further delimiter, that of the lake
 * @returns `null` if the header is not complete yet
 * @throws InputError if the header has several of them
 */
export function findDelimiter(text: string, more: string, state: 'open' | 'end'): string | null {
  let line = 1;
  let at = 0;
  for (let end = 0; ; at = end) {
    end = lineEnd(text, at);
    if (end === text.length && state === 'open') return null;
    const first = text.slice(at, end);
    const sep = sepLine(first.trim() === '' ? first : first.replace(/[\r\n]+$/, ''));
    if (sep !== null) return checkedSep(sep, more, line);
    if (first.trim() !== '' || end === text.length) break;
    line++;
  }
  const found = new Set<string>();
  let quoted = false;
  for (; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === '\n' || character === '\r') break;
    else if (character === more || (DELIMITERS as readonly string[]).includes(character))
      found.add(character);
  }
  if (at === text.length && state === 'open') return null;
  const [only = ',', ...others] = found;
  if (others.length === 0) return only;
  throw new InputError(
    `the delimiter is not clear: the header has ${[...found].map(shownDelimiter).join(' and ')}`,
    { line },
    'Set it with --delimiter, or put names that contain one in quotes.',
  );
}

function lineEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === '\n') return at + 1;
    if (character === '\r') return text[at + 1] === '\n' ? at + 2 : at + 1;
  }
  return text.length;
}

function checkedSep(sep: string, more: string, line: number): string {
  if (sep === more || (DELIMITERS as readonly string[]).includes(sep)) return sep;
  throw new InputError(
    `the line sep=${sep} names a delimiter that is not supported`,
    { line },
    'The delimiters are "," ";" tab and "|".',
  );
}
