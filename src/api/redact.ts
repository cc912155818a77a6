import type { Redactor } from '../core/redactor.js';
import { systemCode } from '../core/system-error.js';

export { createRedactor, REDACTED, type Redactor } from '../core/redactor.js';

/** Longest message that is quoted from the service, in characters. */
const MAX_MESSAGE_CHARS = 500;
/** White space may be half of a text. */
const CHARS_READ = 8;

/**
 * Prepares a service's text for a message: secrets are redacted, control characters (which could control a terminal) and
 * runs of white space become one space, and the text is cut to `maxChars`. Only the beginning of the text is read.
 */
export function quoteText(text: string, redact: Redactor, maxChars: number = MAX_MESSAGE_CHARS): string {
  return boundMessage(redact.head(text.trimStart(), CHARS_READ * maxChars), maxChars);
}

/** Control characters and runs of white space become one space, and a text of more than `maxChars` characters is cut. */
export function boundMessage(text: string, maxChars: number = MAX_MESSAGE_CHARS): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  const line = hideQueries(text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim());
  if (line.length <= maxChars) return line;
  // Half a surrogate pair cannot be encoded.
  return `${line.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Values of the queries of URLs in a text: error pages repeat the URL, and a value may be a record's key. */
function hideQueries(line: string): string {
  return line.replace(QUERY_VALUE, '$1…');
}

const QUERY_VALUE = /([?&](?:amp;)?(?!(?:limit|updatedSince)=)[\w.[\]%-]{1,64}=)[^\s&"'<>)\]}]+/g;

/** Longest chain of causes that is copied; a longer one is a cycle. */
const MAX_DEPTH = 5;
/** Characters of a stack trace that are kept. */
const MAX_STACK_CHARS = 4000;

/**
 * Copies an error with only its name, code, message and stack, all redacted. Errors of HTTP libraries contain the data
 * they were processing (undici's HTTPParserError has the received bytes), and that data may echo the key.
 */
export function safeCause(cause: unknown, redact: Redactor, depth = 0): Error {
  if (!(cause instanceof Error)) return new Error(quoteText(String(cause), redact));
  const inner =
    cause.cause === undefined || depth >= MAX_DEPTH ? undefined : safeCause(cause.cause, redact, depth + 1);
  const copy: Error & { code?: string } = new Error(
    quoteText(cause.message, redact),
    inner === undefined ? undefined : { cause: inner },
  );
  setHidden(copy, 'name', cause.name);
  if (cause.stack !== undefined) setHidden(copy, 'stack', redact.head(cause.stack, MAX_STACK_CHARS));
  const code = systemCode(cause);
  if (code !== null) copy.code = code;
  return copy;
}

function setHidden(error: Error, name: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: false });
}
