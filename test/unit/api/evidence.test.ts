import { describe, expect, test } from 'vitest';
import { classifyResponse, type ResponseSigns } from '../../../src/api/index.js';
import { MAPPING } from './support.js';

function answer(status: number, more: Partial<ResponseSigns> = {}): ResponseSigns {
  return { status, headers: {}, reason: '', text: '{"message":"Forbidden"}', ...more };
}

const headers = (name: string, value: string) => ({ headers: { [name]: value } });
const says = (message: string) => ({ text: JSON.stringify({ message }) });
const PAGE = '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>';

describe('a refusal with evidence of a limit is transient', () => {
  test.each([
    ['a plain 403', answer(403), 'refused', 'status'],
    ['a plain 402', answer(402, says('Your plan has no API access.')), 'refused', 'status'],
    ['403 without a body', answer(403, { text: '' }), 'refused', 'status'],
    ['403 with Retry-After', answer(403, headers('retry-after', '2')), 'transient', 'header'],
    [
      '402 with a Retry-After that cannot be read',
      answer(402, headers('retry-after', 'soon')),
      'transient',
      'header',
    ],
    ['403 with an empty Retry-After', answer(403, headers('retry-after', '')), 'refused', 'status'],
    ['401 with Retry-After', answer(401, headers('retry-after', '5')), 'transient', 'header'],
    ['401 with words', answer(401, says('Rate limit exceeded')), 'refused', 'status'],
    [
      '401 with a rate header at zero',
      answer(401, headers('x-ratelimit-remaining', '0')),
      'refused',
      'status',
    ],
    ['401 with a web page', answer(401, { text: PAGE }), 'refused', 'status'],
    ...[
      ['x-ratelimit-remaining', '0'],
      ['x-rate-limit-remaining', ' 0 '],
      ['ratelimit-remaining', '0'],
      ['ratelimit-remaining', '100, 0'],
      ['ratelimit', '"default";r=0;t=30'],
      ['ratelimit', '"burst";r=12;t=1, "daily";r=0;t=3600'],
      ['ratelimit', 'limit=100, remaining=0, reset=30'],
      ['x-ratelimit-remaining-minute', '0'],
      ['x-hubspot-ratelimit-daily-remaining', '0'],
      ['x-ms-ratelimit-remaining-resource', 'Compute/Low3Min;719,Compute/Low30Min;0'],
      ['x-quota-remaining', '0.0'],
      ['x-daily-requests-left', '0'],
      ['x-shop-api-call-limit', '40/40'],
      ['sforce-limit-info', 'api-usage=15001/15000'],
    ].map(
      ([name, value]) =>
        [`403 with ${name}: ${value}`, answer(403, headers(name!, value!)), 'transient', 'header'] as const,
    ),
    ...[
      ['x-ratelimit-remaining', '10'],
      ['ratelimit', '"default";r=10;t=0'],
      ['ratelimit', 'limit=100, remaining=60, reset=0'],
      ['x-ratelimit-reset', '0'],
      ['x-ratelimit-limit', '0'],
      ['x-shop-api-call-limit', '39/40'],
      ['content-length', '0'],
      ['age', '0'],
    ].map(
      ([name, value]) =>
        [`403 with ${name}: ${value}`, answer(403, headers(name!, value!)), 'refused', 'status'] as const,
    ),
    ...[
      'Rate limit exceeded',
      'API rate-limit hit',
      'You have used up your daily quota.',
      'Too many requests, slow down.',
      'Request was throttled. Expected available in 5 seconds.',
      'You have exceeded your API limit.',
      'API calls limit has been reached',
      'Only 100 requests per minute are allowed',
      'rateLimitExceeded',
      'userRateLimitExceeded',
      'RATE_LIMITED',
      'REQUEST_LIMIT_EXCEEDED',
      'dailyLimitExceeded',
      'ThrottlingException',
      'OVER_QUERY_LIMIT',
      'RESOURCE_EXHAUSTED',
    ].map((words) => [`403 with ${words}`, answer(403, says(words)), 'transient', 'words'] as const),
    [
      '403 with a code in the body',
      answer(403, { text: '{"error":{"errors":[{"reason":"quotaExceeded"}]}}' }),
      'transient',
      'words',
    ],
    [
      '403 with a code in a header',
      answer(403, headers('x-error-code', 'RATE_LIMITED')),
      'transient',
      'words',
    ],
    [
      '403 with words in the reason phrase',
      answer(403, { reason: 'rate limit exceeded' }),
      'transient',
      'words',
    ],
    [
      '403 with words in an XML body',
      answer(403, { text: '<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>' }),
      'transient',
      'words',
    ],
    [
      '403 with words only in a link',
      answer(403, says('Forbidden, see https://docs.example.com/errors#rate-limit')),
      'refused',
      'status',
    ],
    [
      '403 about a missing grant',
      answer(403, says('The key lacks the grant tasks:read.')),
      'refused',
      'status',
    ],
    [
      '403 about a limit of records',
      answer(403, says('limit must not be larger than 100')),
      'refused',
      'status',
    ],
    [
      '403 with cf-mitigated',
      answer(403, { ...headers('cf-mitigated', 'challenge'), text: '' }),
      'transient',
      'challenge',
    ],
    [
      '403 with a web page',
      answer(403, { text: '\n<html><body>403 Forbidden</body></html>' }),
      'transient',
      'challenge',
    ],
    [
      '403 with a web page and Retry-After',
      answer(403, { ...headers('retry-after', '5'), text: PAGE }),
      'transient',
      'challenge',
    ],
    [
      '403 with JSON that is labelled as a web page',
      answer(403, headers('content-type', 'text/html')),
      'refused',
      'status',
    ],
    [
      '403 with JSON of bot protection',
      answer(403, { text: '{"url":"https://geo.captcha-delivery.com/captcha/?x"}' }),
      'transient',
      'challenge',
    ],
    ['405 with a captcha', answer(405, headers('x-amzn-waf-action', 'captcha')), 'transient', 'challenge'],
    ['503 with a challenge page', answer(503, { text: PAGE }), 'transient', 'challenge'],
    ['400 with a web page', answer(400, { text: '<html><h1>Bad Request</h1></html>' }), 'rejected', 'status'],
    ['400 with words', answer(400, says('Rate limit exceeded')), 'rejected', 'status'],
    ['420 with words', answer(420, says('Enhance your calm: rate limit')), 'transient', 'words'],
    ['430 with Retry-After', answer(430, headers('retry-after', '2')), 'transient', 'header'],
    ['430 without evidence', answer(430), 'rejected', 'status'],
    ['404 with words', answer(404, says('Too many requests')), 'not-found', 'status'],
    ['429', answer(429, says('Rate limit exceeded')), 'transient', 'status'],
  ] as const)('%s', (_, response, kind, evidence) => {
    expect(classifyResponse(response, MAPPING, 'read')).toMatchObject({ kind, evidence });
  });

  test('a configured refusal is judged by its evidence', () => {
    const mapping = { refused: [400, 404, 451], transient: [] };
    for (const status of mapping.refused) {
      const limited = answer(status, says('Quota exceeded'));
      expect(classifyResponse(limited, mapping, 'read').kind).toBe('transient');
      expect(classifyResponse(answer(status), mapping, 'read').kind).toBe('refused');
    }
  });

  test.each([400, 409, 422])('a %i of a row is about the row, whatever it says', (status) => {
    const limited = answer(status, { ...headers('retry-after', '1'), text: PAGE });
    expect(classifyResponse(limited, MAPPING, 'write')).toMatchObject({
      kind: 'rejected',
      evidence: 'status',
    });
    const mapping = { refused: [status], transient: [] };
    expect(classifyResponse(limited, mapping, 'write')).toMatchObject({
      kind: 'refused',
      evidence: 'status',
    });
  });

  test('says what the status alone means', () => {
    expect(classifyResponse(answer(403, says('quota')), MAPPING, 'read').byStatus).toBe('refused');
    expect(classifyResponse(answer(420, says('quota')), MAPPING, 'read').byStatus).toBe('rejected');
    expect(classifyResponse(answer(503, { text: PAGE }), MAPPING, 'read').byStatus).toBe('transient');
  });
});
