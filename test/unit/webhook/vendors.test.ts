import { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { HmacSettings } from '../../../src/core/settings.js';
import { partsOf, signatureFailure } from '../../../src/webhook/signature.js';
import { connectionOf, withLines } from '../config/fixtures.js';

interface Notice {
  readonly yaml: string;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
  readonly url?: string;
}

const AT = 1_700_000_000;

/** HMAC-SHA-256 by Web Crypto, and not by the code that is tested. */
async function hmac(key: string | Uint8Array, text: string): Promise<Buffer> {
  const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : key;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await webcrypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  return Buffer.from(await webcrypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)));
}

const hex = async (key: string, text: string) => (await hmac(key, text)).toString('hex');
const base64 = async (key: string, text: string) => (await hmac(key, text)).toString('base64');

/** Examples in the documentation of the senders. */
const DOCUMENTED: Readonly<Record<string, Notice>> = {
  // github.com/standard-webhooks: the example of its libraries, also in the documentation of Svix.
  'standard-webhooks': {
    yaml: '{ preset: standard-webhooks }',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    at: 1_614_265_330,
  },
  // docs.github.com: "Validating webhook deliveries".
  github: {
    yaml: '{ preset: github }',
    secret: "It's a Secret to Everybody",
    headers: {
      'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
    at: AT,
  },
  // api.slack.com: "Verifying requests from Slack".
  slack: {
    yaml: '{ preset: slack }',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      'X-Slack-Request-Timestamp': '1531420618',
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    at: 1_531_420_618,
  },
  // developer.zendesk.com, event connectors: an earlier scheme, with the time after the body.
  'the event connectors of Zendesk': {
    yaml: '{ preset: zendesk, signs: "{body}{timestamp}" }',
    secret: 'HRkRd4BeOAoUkfZr-mhauJT64rvBASlJRoIyPsd3zeA=',
    headers: {
      'X-Zendesk-Webhook-Signature': 'tRDSF7URY8BLCDlaBcQ7FHu051Zk+aAB0NKMP53teMw=',
      'X-Zendesk-Webhook-Signature-Timestamp': '2021-07-25T10:00:00Z',
    },
    body: '{"say": "hello"}',
    at: Date.parse('2021-07-25T10:00:00Z') / 1000,
  },
};

const URL = 'https://hooks.example.com/hooks/acme';

/** Senders whose documentation describes the scheme without an example that can be checked. */
const DESCRIBED: Readonly<Record<string, () => Promise<Notice>>> = {
  stripe: async () => ({
    yaml: '{ preset: stripe }',
    secret: 'whsec_test_secret',
    headers: {
      'Stripe-Signature': `t=${AT},v1=${await hex('whsec_test_secret', `${AT}.{"id":"evt_1"}`)},v0=00`,
    },
    body: '{"id":"evt_1"}',
    at: AT,
  }),
  zendesk: async () => ({
    yaml: '{ preset: zendesk }',
    secret: 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==',
    headers: {
      'X-Zendesk-Webhook-Signature': await base64(
        'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==',
        '2023-11-14T22:13:20Z{"a":1}',
      ),
      'X-Zendesk-Webhook-Signature-Timestamp': '2023-11-14T22:13:20Z',
    },
    body: '{"a":1}',
    at: AT,
  }),
  hubspot: async () => ({
    yaml: '{ preset: hubspot }',
    secret: 'client-secret',
    headers: {
      'X-HubSpot-Signature-v3': await base64('client-secret', `POST${URL}?a=b:c[{"eventId":1}]${AT}000`),
      'X-HubSpot-Request-Timestamp': `${AT}000`,
    },
    body: '[{"eventId":1}]',
    at: AT,
    url: `${URL}?a=b%3Ac`,
  }),
  linear: async () => ({
    yaml: '{ preset: linear }',
    secret: 'lin_wh_secret',
    headers: {
      'Linear-Signature': await hex('lin_wh_secret', `{"action":"create","webhookTimestamp":${AT}000}`),
    },
    body: `{"action":"create","webhookTimestamp":${AT}000}`,
    at: AT,
  }),
  zoom: async () => ({
    yaml: '{ preset: zoom }',
    secret: 'zoom-secret-token',
    headers: {
      'x-zm-signature': `v0=${await hex('zoom-secret-token', `v0:${AT}:{"event":"meeting.started"}`)}`,
      'x-zm-request-timestamp': String(AT),
    },
    body: '{"event":"meeting.started"}',
    at: AT,
  }),
};

function settingsOf(yaml: string): HmacSettings {
  const { webhook } = connectionOf(withLines(`webhook: { publicUrl: "${URL}", signature: ${yaml} }`));
  return webhook!.signature as HmacSettings;
}

function failureOf(notice: Notice, change: Partial<Notice> & { secrets?: readonly string[] } = {}) {
  const { yaml, headers, body, at, url = URL } = { ...notice, ...change };
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return signatureFailure(settingsOf(yaml), change.secrets ?? [notice.secret], {
    header: (name) => lower[name.toLowerCase()] ?? null,
    ...{ method: 'POST', url, body: Buffer.from(body), now: at * 1000 },
  });
}

const all = [
  ...Object.entries(DOCUMENTED).map(([name, notice]) => [name, async () => notice] as const),
  ...Object.entries(DESCRIBED),
] as const;

describe('the scheme of a sender', () => {
  it.each(all)('%s accepts a genuine notice, and refuses others', async (_, make) => {
    const notice = await make();
    expect(failureOf(notice)).toBeNull();
    expect(failureOf(notice, { body: `${notice.body} ` })).toBe('wrong-signature');
    expect(failureOf(notice, { secrets: ['another-secret-of-the-sender'] })).toBe('wrong-signature');
    expect(failureOf(notice, { headers: {} })).toBe('no-signature');
  });

  it.each(all)('%s accepts either of two secrets', async (_, make) => {
    const notice = await make();
    expect(failureOf(notice, { secrets: ['c29tZXRoaW5n', notice.secret] })).toBeNull();
    expect(failureOf(notice, { secrets: [notice.secret, 'c29tZXRoaW5n'] })).toBeNull();
  });

  it.each(all.filter(([name]) => name !== 'github'))('%s refuses a replayed notice', async (_, make) => {
    const notice = await make();
    expect(failureOf(notice, { at: notice.at + 301 })).toBe('stale-timestamp');
    expect(failureOf(notice, { at: notice.at - 301 })).toBe('stale-timestamp');
  });

  it('hubspot signs the URL', async () => {
    const notice = await DESCRIBED.hubspot!();
    expect(failureOf(notice, { url: `${URL}?a=other` })).toBe('wrong-signature');
  });
});

describe('a header with several signatures', () => {
  const stripe = 't={timestamp},v1={signature}';
  it.each([
    [stripe, 't=5,v1=aa,v1=bb,v0=cc', ['aa', 'bb'], '5'],
    [stripe, 'v1=aa, t=5', ['aa'], '5'],
    ['ts={timestamp};h1={signature}', 'ts=5;h1=aa;h1=bb', ['aa', 'bb'], '5'],
    ['v1,{signature}', 'v1,aa v1,bb v1a,cc', ['aa v1,bb v1a,cc', 'aa', 'bb'], null],
    ['{signature}', 'aa,bb', ['aa,bb', 'aa', 'bb'], null],
    ['{signature}', 'sha256=aa', ['sha256=aa'], null],
    [stripe, '', [], null],
    [stripe, 'v1=', [], null],
  ])('%s reads %j', (format, value, signatures, timestamp) => {
    expect(partsOf(format, value)).toEqual({ signatures, timestamp, id: null });
  });

  it('looks at no more signatures than senders send', () => {
    expect(partsOf('{signature}', 'aa,'.repeat(10_000)).signatures.length).toBeLessThan(10);
    const many = Array.from({ length: 5_000 }, (_, at) => `v1=${at}`).join(',');
    expect(partsOf(stripe, many).signatures.length).toBe(8);
  });
});
