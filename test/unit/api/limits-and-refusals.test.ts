import { describe, expect, it } from 'vitest';
import { isLimitLeft, isOtherCause } from '../../../src/api/classify-response.js';
import { resetDelayMs } from '../../../src/core/parse-retry-after.js';

const DATE = Date.parse('2026-11-21T02:00:00Z');
/** The worker's clock is wrong by an hour. */
const CLOCK = { serviceDateMs: DATE, nowMs: DATE + 3_600_000 };
const S = DATE / 1000;

describe('The reset of a limit', () => {
  it.each([
    [{ 'x-ratelimit-reset': '30' }, 30_000],
    [{ 'x-ratelimit-reset': String(S + 30) }, 30_000],
    [{ 'x-ratelimit-reset': String(DATE + 30_000) }, 30_000],
    [{ 'x-ratelimit-reset': '2026-11-21T02:00:30Z' }, 30_000],
    [{ 'x-ratelimit-reset': 'Sat, 21 Nov 2026 02:00:30 GMT' }, 30_000],
    [{ 'x-ratelimit-reset-ms': '900' }, 900],
    [{ 'ratelimit-reset': '30' }, 30_000],
    [{ ratelimit: '"default";r=0;t=30' }, 30_000],
    [{ ratelimit: 'limit=10, remaining=0, reset=30' }, 30_000],
    [{ 'x-ratelimit-reset': String(S + 7200) }, null],
    [{ 'x-ratelimit-reset': 'soon' }, null],
  ])('is read from %j', (headers, ms) => expect(resetDelayMs(headers, CLOCK)).toBe(ms));

  it.each([
    [{ 'x-ratelimit-remaining': '3' }, true],
    [{ ratelimit: '"default";r=5;t=30' }, true],
    [{ 'x-ratelimit-remaining': '0' }, false],
    [{ 'x-ratelimit-reset': '30', 'x-ratelimit-limit': '100' }, false],
  ])('is not that of a limit with requests left: %j', (headers, isLeft) =>
    expect(isLimitLeft({ headers })).toBe(isLeft),
  );
});

describe('The words of a 403', () => {
  it.each([
    'Your IP address 203.0.113.7 is not on the allow list.',
    'IP not whitelisted',
    'Resource protected by organization SAML enforcement.',
    'Single sign-on is required.',
    'This account has been suspended.',
    'Your organization is disabled. Contact support.',
    'You must accept the new Terms of Service first.',
    'This API key may not be used from this address.',
    'Access from your location is not allowed',
    'Blocked by network policy',
    'Access denied from 203.0.113.7',
    'This workspace has been archived',
    'Payment overdue: account restricted',
    'Please agree to the updated privacy policy',
    'Your identity provider must authorize this token',
    'OAuth app access restrictions are enabled for this organization',
  ])('name a cause that no key repairs: %s', (message) => expect(isOtherCause(message)).toBe(true));

  it.each([
    'Forbidden',
    'The key is missing the grant projects:read.',
    'Your plan does not include API access.',
    'The API key is invalid.',
    'Insufficient permissions, see https://service.example/docs/ip-address',
  ])('name the key, a grant or the plan: %s', (message) => expect(isOtherCause(message)).toBe(false));
});
