import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { HmacSettings, SignatureSettings, TokenSettings } from '../core/settings.js';
import { timeOf } from './timestamp.js';

/** What a notice is judged by. */
export interface SignedNotice {
  /** One header's text; `null` when the notice has none. */
  readonly header: (name: string) => string | null;
  /** As it came over the wire. */
  readonly body: Buffer;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What is wrong with a notice, for our log; the sender is told nothing but 401. */
export type Flaw = 'no-signature' | 'wrong-signature' | 'no-timestamp' | 'stale-timestamp';

/** Whether a notice proves that it comes from whoever has the secret. @returns `null` when it does */
export function flawOf(settings: SignatureSettings, secret: string, notice: SignedNotice): Flaw | null {
  return settings.algorithm === 'token'
    ? tokenFlaw(settings, secret, notice)
    : hmacFlaw(settings, secret, notice);
}

/** Both sides are hashed first: so they are equally long, and the time says nothing of either. */
function tokenFlaw(settings: TokenSettings, secret: string, notice: SignedNotice): Flaw | null {
  const given = notice.header(settings.header);
  if (given === null) return 'no-signature';
  return timingSafeEqual(sha256(settings.prefix + secret), sha256(given)) ? null : 'wrong-signature';
}

function hmacFlaw(settings: HmacSettings, secret: string, notice: SignedNotice): Flaw | null {
  const { timestamp, encoding, prefix } = settings;
  const sentAt = timestamp === null ? null : notice.header(timestamp.header);
  const hmac = createHmac(settings.algorithm.slice('hmac-'.length), secret);
  if (timestamp?.signs === 'timestamp.body') hmac.update(`${sentAt ?? ''}.`);
  const expected = hmac.update(notice.body).digest();
  const text = notice.header(settings.header);
  const given = text?.startsWith(prefix) ? decode(text.slice(prefix.length), encoding) : null;
  // Something is always compared with the digest, so that what is malformed takes no other time.
  const comparable = given?.length === expected.length ? given : Buffer.alloc(expected.length);
  const isEqual = timingSafeEqual(expected, comparable) && comparable === given;
  if (text === null) return 'no-signature';
  if (!isEqual) return 'wrong-signature';
  if (timestamp === null) return null;
  // Last, so that only who has the secret learns anything of our clock.
  if (sentAt === null) return 'no-timestamp';
  const time = timeOf(sentAt);
  return time !== null && Math.abs(notice.now - time) <= timestamp.toleranceMs ? null : 'stale-timestamp';
}

function decode(text: string, encoding: HmacSettings['encoding']): Buffer | null {
  if (encoding === 'hex') return /^([0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : null;
  // Node reads both alphabets (RFC 4648, 4 and 5), with padding or without.
  return /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
