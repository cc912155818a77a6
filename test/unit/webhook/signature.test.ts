import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { HmacSettings, SignatureSettings } from '../../../src/core/settings.js';
import { parseTimestamp, signatureFailure } from '../../../src/webhook/signature.js';

const SECRET = 'a-secret';
const BODY = Buffer.from('{"resource":"täsks"}');
const NOW = Date.parse('2026-11-21T02:00:00Z');
const hmac: HmacSettings = {
  header: 'X-Signature',
  algorithm: 'hmac-sha256',
  encoding: 'hex',
  prefix: '',
  secrets: [{ env: 'S' }],
  key: 'text',
  format: '{signature}',
  signs: '{body}',
  idHeader: 'webhook-id',
  timestamp: null,
  toleranceMs: 300_000,
};
const stamped = (signs: 'timestamp.body' | 'body'): HmacSettings => ({
  ...hmac,
  timestamp: { header: 'X-Time', field: null },
  signs: signs === 'body' ? '{body}' : '{timestamp}.{body}',
});
const token: SignatureSettings = {
  header: 'Authorization',
  algorithm: 'token',
  prefix: 'Bearer ',
  secrets: [{ env: 'S' }],
};

function failure(settings: SignatureSettings, headers: Record<string, string>, body = BODY) {
  return signatureFailure(settings, [SECRET], { header: (name) => headers[name] ?? null, body, now: NOW });
}

const digest = (text: Buffer | string, algorithm = 'sha256', secret = SECRET) =>
  createHmac(algorithm, secret).update(text).digest();

describe('a notice signed with HMAC', () => {
  it('matches a published test vector', () => {
    // RFC 4231, test case 2.
    const notice = {
      header: () => '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
      body: Buffer.from('what do ya want for nothing?'),
      now: NOW,
    };
    expect(signatureFailure(hmac, ['Jefe'], notice)).toBeNull();
  });

  it.each(['sha256', 'sha1', 'sha512'] as const)('is valid with %s in hex and in base64', (algorithm) => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const settings = {
        ...hmac,
        algorithm: `hmac-${algorithm}`,
        encoding: encoding === 'hex' ? 'hex' : 'base64',
        prefix: 'v1=',
      } as const;
      const text = `v1=${digest(BODY, algorithm).toString(encoding)}`;
      expect(failure(settings, { 'X-Signature': text })).toBeNull();
      expect(failure(settings, { 'X-Signature': text.slice(3) })).toBe('wrong-signature');
      expect(failure(settings, { 'X-Signature': text }, Buffer.from('{}'))).toBe('wrong-signature');
    }
  });

  it('is also valid in upper-case hex', () => {
    expect(failure(hmac, { 'X-Signature': digest(BODY).toString('hex').toUpperCase() })).toBeNull();
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
    expect(failure(hmac, { 'X-Signature': text })).toBe('wrong-signature');
  });

  it('is rejected if a byte of the body differs', () => {
    const signature = digest(BODY).toString('hex');
    for (let at = 0; at < BODY.length; at++) {
      const body = Buffer.from(BODY);
      body[at]! ^= 1;
      expect(failure(hmac, { 'X-Signature': signature }, body)).toBe('wrong-signature');
    }
  });

  it('is rejected without its header', () => {
    expect(failure(hmac, {})).toBe('no-signature');
  });
});

describe('a notice with a timestamp', () => {
  const signed = (time: string) => ({
    'X-Time': time,
    'X-Signature': createHmac('sha256', SECRET).update(`${time}.`).update(BODY).digest('hex'),
  });

  it.each([String(NOW / 1000), String(NOW), '2026-11-21T02:04:59.9Z', '2026-11-21T01:55:00Z'])(
    'is valid at %s',
    (time) => {
      expect(failure(stamped('timestamp.body'), signed(time))).toBeNull();
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
    expect(failure(stamped('timestamp.body'), signed(time))).toBe('stale-timestamp');
  });

  it('is rejected if the time was changed, or if only the body was signed', () => {
    const old = signed(String(NOW / 1000 - 3600));
    expect(failure(stamped('timestamp.body'), { ...old, 'X-Time': String(NOW / 1000) })).toBe(
      'wrong-signature',
    );
    const bodyOnly = { 'X-Time': String(NOW), 'X-Signature': digest(BODY).toString('hex') };
    expect(failure(stamped('timestamp.body'), bodyOnly)).toBe('wrong-signature');
    expect(failure(stamped('body'), bodyOnly)).toBeNull();
  });

  it('is rejected without the time', () => {
    const only = { 'X-Signature': digest(BODY).toString('hex') };
    expect(failure(stamped('body'), only)).toBe('no-timestamp');
    expect(failure(stamped('timestamp.body'), only)).toBe('wrong-signature');
  });

  it('reveals a stale time only to a sender with the secret', () => {
    const forged = { 'X-Time': '0', 'X-Signature': '00' };
    expect(failure(stamped('timestamp.body'), forged)).toBe('wrong-signature');
  });
});

describe('a notice with a shared token', () => {
  it('is valid only with the token', () => {
    expect(failure(token, { Authorization: `Bearer ${SECRET}` })).toBeNull();
    for (const text of [SECRET, `Bearer ${SECRET}x`, 'Bearer ', 'Bearer', '', `bearer ${SECRET}`])
      expect(failure(token, { Authorization: text })).toBe('wrong-signature');
    expect(failure(token, {})).toBe('no-signature');
  });
});

describe('a timestamp', () => {
  it('is in seconds or milliseconds, depending on its size', () => {
    expect(parseTimestamp('1763690400')).toBe(1_763_690_400_000);
    expect(parseTimestamp('1763690400000')).toBe(1_763_690_400_000);
    expect(parseTimestamp('2026-02-31T00:00:00Z')).not.toBe(0);
    expect(parseTimestamp('2026-13-01T00:00:00Z')).toBeNull();
    expect(parseTimestamp('-5')).toBeNull();
  });
});
