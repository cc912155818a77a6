/**
 * Recognizes secrets and record ids in texts from outside, in every form that a service, a proxy or a library may give
 * them. The work is linear in the length of the text, whatever the text and the secrets contain: the text is decoded in a
 * fixed number of passes, and each pass is searched for fixed strings. The workflow sandbox imports this file.
 */

/** Replaces a secret. */
export const REDACTED = '[redacted]';
/** Replaces a record id. */
const HIDDEN = '<id>';

/** Redacts a text. */
export interface Redactor {
  (text: string): string;
  /**
   * Redacts the first `limit` characters of a text. A secret that begins among them is recognized as a whole, although the
   * rest of the text is not looked at. The result can be longer than `limit` by one marker.
   */
  head(text: string, limit: number): string;
}

/** A text as it is searched: in lower case and decoded. Character `i` stands for `start(i)` to `end(i)` of the original. */
interface View {
  readonly text: string;
  start(index: number): number;
  end(index: number): number;
}

/** A string to search for. */
interface Needle {
  readonly text: string;
  /** Base64: the characters next to it depend on the secret, too. Word: it counts only as a whole word. */
  readonly kind: 'plain' | 'base64' | 'word';
}

interface Secret {
  readonly marker: string;
  readonly escaped: readonly Needle[];
  readonly hex: readonly Needle[];
  readonly numbers: readonly Needle[];
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly marker: string;
}

/** How often a text is decoded: escapes can be escaped again. */
const ROUNDS = 4;
/** Shorter Base64 fragments would match ordinary words. */
const MIN_BASE64_CHARS = 8;
/** Shorter secrets would match ordinary numbers. */
const MIN_BYTES_AS_NUMBERS = 6;
/** Shorter ids are replaced only as whole words; otherwise an id such as `4` would change every number. */
const MIN_ANYWHERE_CHARS = 8;
/** A secret that decoding makes shorter than this is searched for only as it is. */
const MIN_DECODED_CHARS = 4;
/** Most characters that one byte of a secret has in a form, such as `\\\\\\\\u0073` or `%252573`. */
const CHARS_PER_BYTE = 24;

/**
 * Creates a function that replaces each secret in a text, in every form that a service or proxy may echo it in: verbatim, in
 * capitals, JSON-escaped, percent-encoded (also partly or several times), as HTML entities, with `\x`, `\u` or octal escapes, in
 * hexadecimal, as a list of numbers, and in Base64 (both alphabets, also inside a longer encoded text). It also replaces every token
 * after `Bearer`, known or not.
 *
 * @param records ids of records, which are hidden in the same forms
 */
export function createRedactor(secrets: readonly string[], records: readonly string[] = []): Redactor {
  const all = [
    ...secrets.map((value) => ({ value, marker: REDACTED })),
    ...records.map((value) => ({ value, marker: HIDDEN })),
  ].filter(({ value }) => value !== '');
  const known = all.map(({ value, marker }) =>
    marker === REDACTED ? keptSecret(value) : secretOf(value, marker),
  );
  const longest = Math.max(0, ...all.map(({ value }) => CHARS_PER_BYTE * utf8(value).length));
  const redact = (text: string): string => replaced(text, spansOf(text, known), text.length);
  const head = (text: string, limit: number): string => {
    const seen = text.slice(0, limit + Math.max(longest, MIN_SEEN_AFTER));
    return replaced(seen, spansOf(seen, known), limit);
  };
  return Object.assign(redact, { head });
}

/** The forms of secrets. Each failed request has a redactor, with the hundreds of secrets that a worker may know. */
const kept = new Map<string, Secret>();
const MAX_KEPT = 1000;

function keptSecret(value: string): Secret {
  const found = kept.get(value);
  if (found !== undefined) return found;
  const [oldest] = kept.keys();
  if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  const secret = secretOf(value, REDACTED);
  kept.set(value, secret);
  return secret;
}

/** Enough to see that a token follows `Bearer`. */
const MIN_SEEN_AFTER = 64;

/** The text up to `end`, with a marker in place of each span that begins before it. */
function replaced(text: string, spans: readonly Span[], end: number): string {
  let out = '';
  let at = 0;
  for (const span of spans) {
    if (span.start >= end) break;
    out += text.slice(at, span.start) + span.marker;
    at = span.end;
  }
  return at >= end ? out : out + text.slice(at, end);
}

/** The spans of all secrets in order; those that overlap are one. A secret's marker comes before an id's. */
function spansOf(text: string, known: readonly Secret[]): Span[] {
  const found = [...bearerSpans(text), ...(known.length === 0 ? [] : searched(text, known))];
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of found) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else merged[merged.length - 1] = joined(last, span);
  }
  return merged;
}

function joined(a: Span, b: Span): Span {
  const marker = [a, b].find((one) => one.marker !== HIDDEN)?.marker ?? HIDDEN;
  return { start: a.start, end: Math.max(a.end, b.end), marker };
}

const BEARER = /\bBearer(?:\s|%20|[+:=])+(?![+:=]|%20|\[redacted\])[^\s"'<>,;\\)}\]]+/gi;

function bearerSpans(text: string): Span[] {
  return Array.from(text.matchAll(BEARER), ({ index, 0: { length } }) => {
    return { start: index, end: index + length, marker: `Bearer ${REDACTED}` };
  });
}

function searched(text: string, known: readonly Secret[]): Span[] {
  const raw = rawView(text);
  const decoded = decodings(raw);
  const within = (views: readonly View[], form: 'escaped' | 'hex' | 'numbers'): Span[] =>
    known.flatMap((secret) =>
      secret[form].flatMap((needle) => views.flatMap((view) => find(view, needle, secret.marker))),
    );
  return [
    ...within([...decoded, ...bareViews(decoded)], 'escaped'),
    ...(known.some(({ hex }) => hex.length > 0) ? within([hexView(raw)], 'hex') : []),
    ...(known.some(({ numbers }) => numbers.length > 0) ? within([numbersView(raw)], 'numbers') : []),
  ];
}

function find(view: View, needle: Needle, marker: string): Span[] {
  const { text } = view;
  const spans: Span[] = [];
  const { length } = needle.text;
  // Two lists of numbers share the comma between them.
  const step = Math.max(1, length - 1);
  for (let at = text.indexOf(needle.text); at !== -1; at = text.indexOf(needle.text, at + step)) {
    if (needle.kind === 'word' && (isWord(text[at - 1]) || isWord(text[at + length]))) continue;
    const [first, last] = needle.kind === 'base64' ? widened(text, at, at + length) : [at, at + length];
    spans.push({ start: view.start(first), end: view.end(last - 1), marker });
  }
  return spans;
}

/** Letters and digits, approximately those of all scripts. */
function isWord(char: string | undefined): boolean {
  return char !== undefined && /[0-9A-Za-z\u00c0-\uffff]/.test(char);
}

const BASE64 = /[a-z0-9+/_-]/;

/** The characters before and after depend partly on the secret, and padding shows its length. */
function widened(text: string, first: number, last: number): [number, number] {
  const start = first > 0 && BASE64.test(text[first - 1]!) ? first - 1 : first;
  let end = last < text.length && BASE64.test(text[last]!) ? last + 1 : last;
  while (text[end] === '=') end++;
  return [start, end];
}

function secretOf(value: string, marker: string): Secret {
  const isShortId = marker === HIDDEN && value.length < MIN_ANYWHERE_CHARS;
  const kind = isShortId ? 'word' : 'plain';
  const bytes = utf8(value);
  const own = lower(value);
  // An escape gives the bytes of UTF-8, or a character.
  const forms = [own, lower(latin1(bytes))];
  const views = forms.flatMap((form) => {
    const decoded = decodings(rawView(form));
    return [...decoded, ...bareViews(decoded)].map(({ text }) => text);
  });
  const texts = views.filter((text) => text === own || text.length >= MIN_DECODED_CHARS);
  const spaced = texts.filter((text) => text.includes(' ')).map((text) => text.replaceAll(' ', '+'));
  const unique = [...new Set([...forms, ...texts, ...spaced])];
  const escaped: Needle[] = unique.map((text) => ({ text, kind }));
  if (isShortId) return { marker, escaped, hex: [], numbers: [] };
  escaped.push(...base64Needles(bytes));
  if (bytes.length < MIN_BYTES_AS_NUMBERS) return { marker, escaped, hex: [], numbers: [] };
  return { marker, escaped, hex: [plain(hexOf(bytes))], numbers: numberNeedles(bytes) };
}

// This file has no global of Node, because the workflow sandbox imports it.
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const latin1 = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const plain = (text: string): Needle => ({ text, kind: 'plain' });

/** The bytes in decimal and octal, as `numbersView` shows them. */
function numberNeedles(bytes: Uint8Array): Needle[] {
  const lists = [
    (byte: number) => String(byte),
    (byte: number) => byte.toString(8),
    (byte: number) => byte.toString(8).padStart(3, '0'),
  ].map((form) => `,${Array.from(bytes, form).join(',')},`);
  return [...new Set(lists)].map(plain);
}

/**
 * The Base64 characters (RFC 4648) that depend only on the secret, for each of its three possible offsets within a group of
 * three bytes, in both alphabets.
 */
function base64Needles(bytes: Uint8Array): Needle[] {
  const texts = [0, 1, 2].flatMap((offset) => {
    const encoded = btoa('\0'.repeat(offset) + latin1(bytes));
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')].map(lower);
  });
  return [...new Set(texts)]
    .filter((text) => text.length >= MIN_BASE64_CHARS)
    .map((text) => ({ text, kind: 'base64' }));
}

/** Lower case, with as many UTF-16 units. */
function lower(text: string): string {
  const whole = text.toLowerCase();
  if (whole.length === text.length) return whole;
  return Array.from({ length: text.length }, (_, at) => {
    const one = text[at]!.toLowerCase();
    return one.length === 1 ? one : text[at]!;
  }).join('');
}

function rawView(text: string): View {
  return { text: lower(text), start: (index) => index, end: (index) => index + 1 };
}

/** A view and what it becomes when escapes are decoded level by level, until there are none. */
function decodings(raw: View): View[] {
  const views = [raw];
  for (let round = 0; round < ROUNDS; round++) {
    const last = views.at(-1)!;
    if (last.text.search(ESCAPES) === -1) break;
    views.push(rewritten(last, ESCAPES, decodeAt));
  }
  return views;
}

/** The first and the last view without backslashes, for texts that escape more, or less, than they should. */
function bareViews(views: readonly View[]): View[] {
  return [...new Set([views[0]!, views.at(-1)!])]
    .filter(({ text }) => text.includes('\\'))
    .map((view) => rewritten(view, /\\/g, () => ['', 1]));
}

/** What a position of a text stands for: characters, and how many of the text they take. */
type Step = readonly [decoded: string, length: number];

/** Characters that are those of the view before, or that stand for some of them. */
interface Run {
  /** Where the run begins in the new text. */
  readonly at: number;
  /** Where the characters begin that stand for the first of the run: those that became nothing belong to the one after them. */
  readonly lead: number;
  /** Where it begins in the text before. */
  readonly from: number;
  /** Where it ends there, unless its characters are copies, one for one. */
  readonly to: number | null;
}

/**
 * Rewrites a view from left to right. `step` says what a match stands for, and may take only the beginning of it. The time
 * depends on the number of matches: what is between them is copied, and positions are computed when they are needed.
 */
function rewritten(
  view: View,
  matches: RegExp,
  step: (text: string, at: number, length: number) => Step,
): View {
  const { text } = view;
  const runs: Run[] = [];
  let out = '';
  let lead = 0;
  const add = (part: string, from: number, to: number | null): void => {
    if (part === '') return;
    runs.push({ at: out.length, lead, from, to });
    out += part;
    lead = to ?? from + part.length;
  };
  let copied = 0;
  matches.lastIndex = 0;
  for (let match = matches.exec(text); match !== null; match = matches.exec(text)) {
    const [decoded, length] = step(text, match.index, match[0].length);
    add(text.slice(copied, match.index), copied, null);
    copied = match.index + length;
    add(decoded, match.index, copied);
    matches.lastIndex = copied;
  }
  add(text.slice(copied), copied, null);
  const runAt = (index: number): Run => runs[lastAtMost(runs, index)]!;
  return {
    text: out,
    start(index) {
      const { at, lead: first, from, to } = runAt(index);
      return view.start(index === at || to !== null ? first : from + index - at);
    },
    end(index) {
      const { at, from, to } = runAt(index);
      return view.end(to === null ? from + index - at : to - 1);
    },
  };
}

/** The index of the last run that begins at a position or before it. */
function lastAtMost(runs: readonly Run[], index: number): number {
  let [low, high] = [0, runs.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (runs[middle]!.at <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where the escapes of `decodeAt` begin. */
const ESCAPES = /[\\%&]/g;

/** Decodes one level of the escape at a position, if there is one. */
function decodeAt(text: string, at: number): Step {
  const char = text[at]!;
  if (char === '\\') return backslashAt(text, at);
  if (char === '%') return hexStep(text, at, 1, 2) ?? [char, 1];
  if (char === '&') return entityAt(text, at);
  return [char, 1];
}

const LETTER_ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function backslashAt(text: string, at: number): Step {
  const next = text[at + 1];
  if (next === undefined) return ['\\', 1];
  if (next === 'u') return hexStep(text, at, 2, 4) ?? [next, 2];
  if (next === 'x') return hexStep(text, at, 2, 2) ?? [next, 2];
  const octal = /^[0-3]?[0-7]{1,2}/.exec(text.slice(at + 1, at + 4))?.[0];
  if (octal !== undefined && octal.length > 1)
    return [lowerUnit(Number.parseInt(octal, 8)), 1 + octal.length];
  return [LETTER_ESCAPES[next] ?? next, 2];
}

function hexStep(text: string, at: number, skip: number, digits: number): Step | null {
  const hex = text.slice(at + skip, at + skip + digits);
  if (hex.length < digits || !/^[0-9a-f]+$/.test(hex)) return null;
  return [lowerUnit(Number.parseInt(hex, 16)), skip + digits];
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const ENTITY = /^&(?:#x([0-9a-f]{1,8})|#(\d{1,8})|([a-z]{2,4}));/;
const LONGEST_ENTITY = 12;

function entityAt(text: string, at: number): Step {
  const [whole, hex, decimal, name] = ENTITY.exec(text.slice(at, at + LONGEST_ENTITY)) ?? [];
  if (whole === undefined) return ['&', 1];
  const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN);
  if (code <= 0x10ffff) return [lower(String.fromCodePoint(code)), whole.length];
  return name !== undefined && Object.hasOwn(NAMED, name) ? [NAMED[name]!, whole.length] : ['&', 1];
}

const lowerUnit = (unit: number): string => lower(String.fromCharCode(unit));

const NO_HEX = /0x|[^0-9a-f]+/g;

/** Only the hexadecimal digits, without `0x`. Each text has many pieces of them, so their positions are computed only if needed. */
function hexView(raw: View): View {
  let exact: View | undefined;
  const positions = (): View => {
    exact ??= rewritten(raw, NO_HEX, (_text, _at, length) => ['', length]);
    return exact;
  };
  return {
    text: raw.text.replace(NO_HEX, ''),
    start: (index) => positions().start(index),
    end: (index) => positions().end(index),
  };
}

/** Only the decimal digits, with a comma before, between and after the numbers. */
function numbersView(raw: View): View {
  const { text, start, end } = rewritten(raw, /[^0-9]+/g, (whole, at, length) =>
    at === 0 || isDigit(whole[at - 1]!) ? [',', 1] : ['', length],
  );
  const after = raw.text.length;
  return {
    text: `,${text},`,
    start: (index) => (index === 0 ? 0 : index > text.length ? after : start(index - 1)),
    end: (index) => (index === 0 ? 0 : index > text.length ? after : end(index - 1)),
  };
}

const isDigit = (char: string): boolean => char >= '0' && char <= '9';
