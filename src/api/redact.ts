import { systemCode } from '../core/system-error.js';

/** Replaces a secret. */
export const REDACTED = '[redacted]';

/** Longest message that is quoted from the service, in characters. */
const MAX_MESSAGE_CHARS = 500;

export type Redactor = (text: string) => string;

const BEARER = /\bBearer(?:\s|%20|[+:=])+(?![+:=]|%20|\[redacted\])[^\s"'<>,;\\)}\]]+/gi;
/** Shorter Base64 fragments would match ordinary words. */
const MIN_BASE64_CHARS = 8;

/**
 * Creates a function that replaces each secret in a text, in every form that a service or proxy may echo it in:
 * verbatim, JSON-escaped, percent-encoded (also partly or twice), as HTML entities, and in Base64 (both alphabets, also
 * inside a longer encoded text). It also replaces every token after `Bearer`, known or not.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const known = secrets.filter((secret) => secret !== '');
  // Longest first: otherwise a secret that begins with another secret would be replaced only in part.
  const patterns = [...known]
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [new RegExp(anyEscaping(secret), 'g'), ...base64Forms(secret)]);
  return (text) => {
    const cleaned = patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), text);
    return cleaned.replace(BEARER, `Bearer ${REDACTED}`);
  };
}

/** Replaces a record id. */
const HIDDEN = '<id>';
/** Shorter ids are replaced only as whole words; otherwise an id such as `4` would change every number. */
const MIN_ANYWHERE_CHARS = 8;
/** Letters and digits, approximately those of all scripts. */
const WORD = '[0-9A-Za-z\\u00c0-\\uffff]';

/** Creates a function that replaces record ids in a text, in the same forms as secrets and in any case. */
export function createRecordRedactor(names: readonly string[]): Redactor {
  const patterns = names
    .filter((name) => name !== '')
    .sort((a, b) => b.length - a.length)
    .flatMap((name) => {
      const plain = anyEscaping(name);
      if (name.length >= MIN_ANYWHERE_CHARS) return [new RegExp(plain, 'gi'), ...base64Forms(name)];
      return [new RegExp(`(?<!${WORD})${plain}(?!${WORD})`, 'gi')];
    });
  return (text) => patterns.reduce((rest, pattern) => rest.replace(pattern, HIDDEN), text);
}

/**
 * Prepares a service's text for a message: control characters (which could control a terminal) and runs of white space
 * become one space, and the text is cut to `maxChars`. Redact first: a cut secret is no longer recognized.
 */
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

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

function anyEscaping(secret: string): string {
  return [...secret].map(charEscapes).join('');
}

function charEscapes(char: string): string {
  const utf8 = [...Buffer.from(char, 'utf8')];
  const percent = utf8.map((byte) => `%(?:25)*${anyCase(byte.toString(16).padStart(2, '0'))}`).join('');
  const units = Array.from({ length: char.length }, (_, i) => char.charCodeAt(i));
  const unicode = units.map((unit) => `\\\\+u${anyCase(unit.toString(16).padStart(4, '0'))}`).join('');
  const code = char.codePointAt(0) ?? 0;
  const numeric = `&#(?:[xX]0*${anyCase(code.toString(16))}|0*${code});`;
  const named = ENTITIES[char] === undefined ? [] : [`&${ENTITIES[char]};`];
  const plus = char === ' ' ? ['\\+'] : [];
  const literal = char.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return `(?:\\\\*${literal}|${[percent, unicode, numeric, ...named, ...plus].join('|')})`;
}

/** Hexadecimal digits match in both cases; Base64 and the secret itself do not. */
function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/**
 * The Base64 characters (RFC 4648) that depend only on the secret, for each of its three possible offsets within a group
 * of three bytes. Offset 0 is also the form of a secret that is encoded alone, so its last characters match too.
 */
function base64Forms(secret: string): RegExp[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor(((offset + bytes.length) * 8) / 6);
    const core = encoded.slice(from, to);
    if (core.length < MIN_BASE64_CHARS) return [];
    const source = [...core].map(base64Char).join('');
    return [new RegExp(`${offset === 0 ? '' : '[A-Za-z0-9+/_-]?'}${source}[A-Za-z0-9+/_-]?=*`, 'g')];
  });
}

function base64Char(char: string): string {
  if (char === '+' || char === '-') return '(?:[+-]|%2[bB])';
  if (char === '/' || char === '_') return '(?:[/_]|\\\\/|%2[fF])';
  return char;
}

/** Longest chain of causes that is copied; a longer one is a cycle. */
const MAX_DEPTH = 5;

/**
 * Copies an error with only its name, code, message and stack, all redacted. Errors of HTTP libraries contain the data
 * they were processing (undici's HTTPParserError has the received bytes), and that data may echo the key.
 */
export function safeCause(cause: unknown, redact: Redactor, depth = 0): Error {
  if (!(cause instanceof Error)) return new Error(boundMessage(redact(String(cause))));
  const inner =
    cause.cause === undefined || depth >= MAX_DEPTH ? undefined : safeCause(cause.cause, redact, depth + 1);
  const copy: Error & { code?: string } = new Error(
    boundMessage(redact(cause.message)),
    inner === undefined ? undefined : { cause: inner },
  );
  setHidden(copy, 'name', cause.name);
  if (cause.stack !== undefined) setHidden(copy, 'stack', redact(cause.stack));
  const code = systemCode(cause);
  if (code !== null) copy.code = code;
  return copy;
}

function setHidden(error: Error, name: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: false });
}
