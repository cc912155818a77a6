/** What a redacted text shows in the place of a secret. */
export const REDACTED = '[redacted]';

/** The longest message taken over from the service, in characters. */
export const MAX_MESSAGE_CHARS = 500;

export type Redactor = (text: string) => string;

const BEARER = /\bBearer(?:\s|%20|[+:=])+(?![+:=]|%20|\[redacted\])[^\s"'<>,;\\)}\]]+/gi;
/** Shorter fragments of Base64 would match ordinary words. */
const MIN_BASE64_CHARS = 8;

/**
 * Makes a function that replaces each secret in a text, in whatever form a service or proxy may echo it: as it
 * is, JSON-escaped, percent-encoded (also in part, also twice), as HTML entities, and in Base64 (both alphabets, also in
 * the middle of a longer encoded text); and whatever follows `Bearer`, whether we know it or not.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const known = secrets.filter((secret) => secret !== '');
  // Longest first: a secret that begins with another one must not leave its rest behind.
  const patterns = [...known]
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [anyEscaping(secret), ...base64Forms(secret)])
    .map((source) => new RegExp(source, 'g'));
  return (text) => {
    const cleaned = patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), text);
    return cleaned.replace(BEARER, `Bearer ${REDACTED}`);
  };
}

/**
 * Makes a service's text fit for a message: control characters (which could drive a terminal) and runs of white
 * space become one space, and what is over `maxChars` is cut. Redact first: a cut secret is no longer recognised.
 */
export function boundMessage(text: string, maxChars: number = MAX_MESSAGE_CHARS): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  if (line.length <= maxChars) return line;
  // Half a surrogate pair could not be written anywhere.
  return `${line.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

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
  return `(?:\\\\*${literal(char)}|${[percent, unicode, numeric, ...named, ...plus].join('|')})`;
}

/** Hexadecimal digits are written in both cases; Base64 and the secret itself are not. */
function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/**
 * The characters of Base64 (RFC 4648) that depend on the secret alone, for each of the three places where it can begin
 * within a group of three bytes. The first form, which a secret encoded by itself has, takes its tail along.
 */
function base64Forms(secret: string): string[] {
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
    return [`${offset === 0 ? '' : '[A-Za-z0-9+/_-]?'}${source}[A-Za-z0-9+/_-]?=*`];
  });
}

function base64Char(char: string): string {
  if (char === '+' || char === '-') return '(?:[+-]|%2[bB])';
  if (char === '/' || char === '_') return '(?:[/_]|\\\\/|%2[fF])';
  return char;
}
