import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { HmacSettings, SignatureSettings } from '../../../src/core/settings.js';
import { flawOf } from '../../../src/webhook/signature.js';
import { timeOf } from '../../../src/webhook/timestamp.js';

const SECRET = 'a-secret';
const BODY = Buffer.from('{"resource":"täsks"}');
const NOW = Date.parse('2026-11-21T02:00:00Z');
const hmac: HmacSettings = {
  header: 'X-Signature',
  algorithm: 'hmac-sha256',
  encoding: 'hex',
  prefix: '',
  secret: { env: 'S' },
  timestamp: null,
};
const stamped = (signs: 'timestamp.body' | 'body'): HmacSettings => ({
  ...hmac,
  timestamp: { header: 'X-Time', toleranceMs: 300_000, signs },
});
const token: SignatureSettings = {
  header: 'Authorization',
  algorithm: 'token',
  prefix: 'Bearer ',
  secret: { env: 'S' },
};

function flaw(settings: SignatureSettings, headers: Record<string, string>, body = BODY) {
  return flawOf(settings, SECRET, { header: (name) => headers[name] ?? null, body, now: NOW });
}

const digest = (text: Buffer | string, algorithm = 'sha256', secret = SECRET) =>
  createHmac(algorithm, secret).update(text).digest();

describe('a notice signed with HMAC', () => {
  it('is known by a vector that others computed', () => {
    // RFC 4231, test case 2.
    const notice = {
      header: () => '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
      body: Buffer.from('what do ya want for nothing?'),
      now: NOW,
    };
    expect(flawOf(hmac, 'Jefe', notice)).toBeNull();
  });

  it.each(['sha256', 'sha1', 'sha512'] as const)('is good with %s in hex and in base64', (algorithm) => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const settings = {
        ...hmac,
        algorithm: `hmac-${algorithm}`,
        encoding: encoding === 'hex' ? 'hex' : 'base64',
        prefix: 'v1=',
      } as const;
      const text = `v1=${digest(BODY, algorithm).toString(encoding)}`;
      expect(flaw(settings, { 'X-Signature': text })).toBeNull();
      expect(flaw(settings, { 'X-Signature': text.slice(3) })).toBe('wrong-signature');
      expect(flaw(settings, { 'X-Signature': text }, Buffer.from('{}'))).toBe('wrong-signature');
    }
  });

  it('is good in capital hex too', () => {
    expect(flaw(hmac, { 'X-Signature': digest(BODY).toString('hex').toUpperCase() })).toBeNull();
  });

  it.each([
    '',
    'zz',
    '00',
    'undefined',
    '0'.repeat(64),
    digest(BODY, 'sha256', 'another').toString('hex'),
    digest(BODY).toString('hex').slice(2),
    `${digest(BODY).toString('hex')}00`,
    digest(BODY).toString('base64'),
    digest(BODY, 'sha1').toString('hex'),
  ])('is refused with the signature %j', (text) => {
    expect(flaw(hmac, { 'X-Signature': text })).toBe('wrong-signature');
  });

  it('is refused when a byte of the body is another one', () => {
    const signature = digest(BODY).toString('hex');
    for (let at = 0; at < BODY.length; at++) {
      const body = Buffer.from(BODY);
      body[at]! ^= 1;
      expect(flaw(hmac, { 'X-Signature': signature }, body)).toBe('wrong-signature');
    }
  });

  it('is refused without its header', () => {
    expect(flaw(hmac, {})).toBe('no-signature');
  });
});

describe('a notice with a timestamp', () => {
  const signed = (time: string) => ({
    'X-Time': time,
    'X-Signature': createHmac('sha256', SECRET).update(`${time}.`).update(BODY).digest('hex'),
  });

  it.each([String(NOW / 1000), String(NOW), '2026-11-21T02:04:59.9Z', '2026-11-21T01:55:00Z'])(
    'is good at %s',
    (time) => {
      expect(flaw(stamped('timestamp.body'), signed(time))).toBeNull();
    },
  );

  it.each([
    String(NOW / 1000 - 301),
    String(NOW / 1000 + 301),
    '2026-11-21T02:05:01Z',
    '0',
    'yesterday',
    '2026-11-21',
    '2026-11-21T02:00:00+02:00',
    '1e9',
    '9'.repeat(30),
  ])('is refused as stale at %s', (time) => {
    expect(flaw(stamped('timestamp.body'), signed(time))).toBe('stale-timestamp');
  });

  it('is refused when the time was changed, or when only the body was signed', () => {
    const old = signed(String(NOW / 1000 - 3600));
    expect(flaw(stamped('timestamp.body'), { ...old, 'X-Time': String(NOW / 1000) })).toBe('wrong-signature');
    const bodyOnly = { 'X-Time': String(NOW), 'X-Signature': digest(BODY).toString('hex') };
    expect(flaw(stamped('timestamp.body'), bodyOnly)).toBe('wrong-signature');
    expect(flaw(stamped('body'), bodyOnly)).toBeNull();
  });

  it('is refused without the time', () => {
    const only = { 'X-Signature': digest(BODY).toString('hex') };
    expect(flaw(stamped('body'), only)).toBe('no-timestamp');
    expect(flaw(stamped('timestamp.body'), only)).toBe('wrong-signature');
  });

  it('tells of its time only who has the secret', () => {
    const forged = { 'X-Time': '0', 'X-Signature': '00' };
    expect(flaw(stamped('timestamp.body'), forged)).toBe('wrong-signature');
  });
});

describe('a notice with a shared token', () => {
  it('is good with the token, and with nothing else', () => {
    expect(flaw(token, { Authorization: `Bearer ${SECRET}` })).toBeNull();
    for (const text of [SECRET, `Bearer ${SECRET}x`, 'Bearer ', 'Bearer', '', `bearer ${SECRET}`])
      expect(flaw(token, { Authorization: text })).toBe('wrong-signature');
    expect(flaw(token, {})).toBe('no-signature');
  });
});

describe('a timestamp', () => {
  it('is seconds or milliseconds by its size', () => {
    expect(timeOf('1763690400')).toBe(1_763_690_400_000);
    expect(timeOf('1763690400000')).toBe(1_763_690_400_000);
    expect(timeOf('2026-02-31T00:00:00Z')).not.toBe(0);
    expect(timeOf('2026-13-01T00:00:00Z')).toBeNull();
    expect(timeOf('-5')).toBeNull();
  });
});
