import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { EpochMs } from '../core/brands.js';
import type { HmacSettings, SignatureSettings, TokenSettings } from '../core/settings.js';
import { momentOf, readIsoTime } from '../core/utc-time.js';
import { parseJson, valuesAt } from './notice.js';

/** The parts of a notice that its signature covers. */
interface SignedNotice {
  /** The value of a header; `null` if the notice does not have it. */
  readonly header: (name: string) => string | null;
  readonly method?: string | undefined;
  /** The URL that the sender called; `null` if it is not known. */
  readonly url?: string | null | undefined;
  /** The raw bytes. */
  readonly body: Buffer;
  readonly now: EpochMs;
}

/** Why a signature is not valid, for the log. The sender only gets a 401. */
export type SignatureFailure = 'no-signature' | 'wrong-signature' | 'no-timestamp' | 'stale-timestamp';

/**
 * Checks that the sender of a notice knows one of the secrets, before anything of the notice is parsed.
 *
 * @returns `null` if it does
 */
export function signatureFailure(
  settings: SignatureSettings,
  secrets: readonly string[],
  notice: SignedNotice,
): SignatureFailure | null {
  return settings.algorithm === 'token'
    ? tokenFailure(settings, secrets, notice)
    : hmacFailure(settings, secrets, notice);
}

/** Compares hashes: they have equal lengths, so the comparison takes constant time. */
function tokenFailure(
  settings: TokenSettings,
  secrets: readonly string[],
  notice: SignedNotice,
): SignatureFailure | null {
  const given = notice.header(settings.header);
  if (given === null) return 'no-signature';
  const matches = secrets.map((secret) => timingSafeEqual(sha256(settings.prefix + secret), sha256(given)));
  return matches.includes(true) ? null : 'wrong-signature';
}

function hmacFailure(
  settings: HmacSettings,
  secrets: readonly string[],
  notice: SignedNotice,
): SignatureFailure | null {
  const text = notice.header(settings.header);
  const parts = partsOf(settings.format, text ?? '');
  const { timestamp } = settings;
  const inHeader = timestamp === null || timestamp.header === null ? null : notice.header(timestamp.header);
  const signedTime = inHeader ?? parts.timestamp;
  const values = {
    timestamp: signedTime ?? '',
    id: parts.id ?? notice.header(settings.idHeader) ?? '',
    method: notice.method ?? 'POST',
  };
  const given = parts.signatures.map((one) => digestIn(one, settings));
  const expected = secrets.flatMap((secret) =>
    urlForms(notice.url ?? '').map((url) => digestOf(settings, secret, notice.body, { ...values, url })),
  );
  // All digests are compared, so that a malformed signature takes the same time.
  const matches = expected.flatMap((digest) => given.map((one) => isEqual(digest, one)));
  if (text === null) return 'no-signature';
  if (!matches.includes(true)) return 'wrong-signature';
  if (timestamp === null) return null;
  // Checked last, so that only a sender with the secret can learn about this clock.
  const sentAt = timestamp.field === null ? signedTime : timeIn(notice.body, timestamp.field);
  if (sentAt === null) return 'no-timestamp';
  const time = parseTimestamp(sentAt);
  return time !== null && Math.abs(notice.now - time) <= settings.toleranceMs ? null : 'stale-timestamp';
}

/** Most signatures of one notice that are looked at: senders send one for each secret. */
const MAX_SIGNATURES = 8;

/** What a header with a signature holds. */
interface HeaderParts {
  readonly signatures: readonly string[];
  readonly timestamp: string | null;
  readonly id: string | null;
}

/**
 * Reads the value of a header by its format. Parts can come in any order, others may be between them, and there can be several
 * signatures, separated by commas, semicolons or white space.
 */
export function partsOf(format: string, value: string): HeaderParts {
  const isList = (format.match(/\{/g) ?? []).length > 1;
  const wanted = (isList ? format.split(LISTED) : [format]).map(placeholderOf);
  const separator = wanted.some(({ before }) => before.includes(',')) ? /\s+/ : LISTED;
  const items = isList ? value.split(separator) : [value, ...value.split(separator)];
  const found = {
    signatures: new Set<string>(),
    timestamp: null as string | null,
    id: null as string | null,
  };
  for (const item of items) {
    const match = wanted.find(
      ({ before, after }) =>
        item.length > before.length + after.length && item.startsWith(before) && item.endsWith(after),
    );
    if (match === undefined) continue;
    const text = item.slice(match.before.length, item.length - match.after.length);
    if (match.name !== 'signature') found[match.name] ??= text;
    else if (found.signatures.size < MAX_SIGNATURES) found.signatures.add(text);
  }
  return { ...found, signatures: [...found.signatures] };
}

/** Separates the parts of a header. */
const LISTED = /[,;\s]+/;

interface Placeholder {
  readonly name: 'signature' | 'timestamp' | 'id';
  readonly before: string;
  readonly after: string;
}

function placeholderOf(part: string): Placeholder {
  const from = part.indexOf('{');
  const to = part.indexOf('}', from);
  const name = part.slice(from + 1, to) as Placeholder['name'];
  return { name, before: part.slice(0, from), after: part.slice(to + 1) };
}

type Values = Readonly<Record<'timestamp' | 'id' | 'method' | 'url', string>>;

function digestOf(settings: HmacSettings, secret: string, body: Buffer, values: Values): Buffer {
  const hmac = createHmac(settings.algorithm.slice('hmac-'.length), keyOf(settings, secret));
  for (const part of settings.signs.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    hmac.update(name === 'body' ? body : name === undefined ? part : values[name as keyof Values]);
  }
  return hmac.digest();
}

/** Senders show a secret in Base64 with the beginning `whsec_`, which is not part of the key. */
function keyOf({ key }: HmacSettings, secret: string): string | Buffer {
  return key === 'text' ? secret : Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

/** HubSpot signs the URL with these characters decoded. */
const DECODED = /%(?:3a|2f|3f|40|21|24|27|28|29|2a|2c|3b)/gi;

/** The URL as it was called, and as a sender may have signed it. */
function urlForms(url: string): string[] {
  return [...new Set([url, url.replace(DECODED, decodeURIComponent)])];
}

function digestIn(text: string, { prefix, encoding }: HmacSettings): Buffer | null {
  return text.startsWith(prefix) ? decode(text.slice(prefix.length), encoding) : null;
}

function isEqual(expected: Buffer, given: Buffer | null): boolean {
  const comparable = given?.length === expected.length ? given : Buffer.alloc(expected.length);
  return timingSafeEqual(expected, comparable) && comparable === given;
}

/** The time in a body whose signature is valid. */
function timeIn(body: Buffer, pointer: string): string | null {
  const [value] = valuesAt(parseJson(body), pointer);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function decode(text: string, encoding: HmacSettings['encoding']): Buffer | null {
  if (encoding === 'hex') return /^([0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : null;
  // Node decodes both alphabets (RFC 4648, sections 4 and 5), with or without padding.
  return /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A number from here on is in milliseconds: in seconds, it would be after the year 5000. */
const MILLISECONDS_FROM = 100_000_000_000;

/**
 * Parses a timestamp header: Unix time in seconds or milliseconds, or an ISO 8601 time in UTC.
 *
 * @returns `null` for anything else
 */
export function parseTimestamp(text: string): EpochMs | null {
  if (/^\d{1,15}$/.test(text)) {
    const value = Number(text);
    return value < MILLISECONDS_FROM ? value * 1000 : value;
  }
  const time = readIsoTime(text);
  const isUtc = time?.precision === 'second' && (time.zone === 'Z' || time.zone === '+00:00');
  return isUtc ? momentOf(time) : null;
}
