import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { HmacSettings, SignatureSettings, TokenSettings } from '../core/settings.js';
import { momentOf, readIsoTime } from '../core/utc-time.js';

/** The parts of a notice that its signature covers. */
interface SignedNotice {
  /** The value of a header; `null` if the notice does not have it. */
  readonly header: (name: string) => string | null;
  /** The raw bytes. */
  readonly body: Buffer;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Why a signature is not valid, for the log. The sender only gets a 401. */
export type SignatureFailure = 'no-signature' | 'wrong-signature' | 'no-timestamp' | 'stale-timestamp';

/** Checks that the sender of a notice knows the secret. @returns `null` if it does */
export function signatureFailure(
  settings: SignatureSettings,
  secret: string,
  notice: SignedNotice,
): SignatureFailure | null {
  return settings.algorithm === 'token'
    ? tokenFailure(settings, secret, notice)
    : hmacFailure(settings, secret, notice);
}

/** Compares hashes: they have equal lengths, so the comparison takes constant time. */
function tokenFailure(
  settings: TokenSettings,
  secret: string,
  notice: SignedNotice,
): SignatureFailure | null {
  const given = notice.header(settings.header);
  if (given === null) return 'no-signature';
  return timingSafeEqual(sha256(settings.prefix + secret), sha256(given)) ? null : 'wrong-signature';
}

function hmacFailure(settings: HmacSettings, secret: string, notice: SignedNotice): SignatureFailure | null {
  const { timestamp, encoding, prefix } = settings;
  const sentAt = timestamp === null ? null : notice.header(timestamp.header);
  const hmac = createHmac(settings.algorithm.slice('hmac-'.length), secret);
  if (timestamp?.signs === 'timestamp.body') hmac.update(`${sentAt ?? ''}.`);
  const expected = hmac.update(notice.body).digest();
  const text = notice.header(settings.header);
  const given = text?.startsWith(prefix) ? decode(text.slice(prefix.length), encoding) : null;
  // The digest is always compared, so that a malformed signature takes the same time.
  const comparable = given?.length === expected.length ? given : Buffer.alloc(expected.length);
  const isEqual = timingSafeEqual(expected, comparable) && comparable === given;
  if (text === null) return 'no-signature';
  if (!isEqual) return 'wrong-signature';
  if (timestamp === null) return null;
  // Checked last, so that only a sender with the secret can learn about this clock.
  if (sentAt === null) return 'no-timestamp';
  const time = parseTimestamp(sentAt);
  return time !== null && Math.abs(notice.now - time) <= timestamp.toleranceMs ? null : 'stale-timestamp';
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
 * @returns milliseconds since 1970; `null` for anything else
 */
export function parseTimestamp(text: string): number | null {
  if (/^\d{1,15}$/.test(text)) {
    const value = Number(text);
    return value < MILLISECONDS_FROM ? value * 1000 : value;
  }
  const time = readIsoTime(text);
  const isUtc = time?.precision === 'second' && (time.zone === 'Z' || time.zone === '+00:00');
  return isUtc ? momentOf(time) : null;
}
