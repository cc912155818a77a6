import { describe, expect, test } from 'vitest';
import { classifyStatus, refusalScope } from '../../../src/api/index.js';
import { MAPPING } from './support.js';

describe('classifyStatus', () => {
  test.each([
    [200, 'success'],
    [204, 'success'],
    [302, 'redirect'],
    [304, 'redirect'],
    [401, 'refused'],
    [402, 'refused'],
    [403, 'refused'],
    [404, 'not-found'],
    [400, 'rejected'],
    [422, 'rejected'],
    [408, 'transient'],
    [425, 'transient'],
    [429, 'transient'],
    [500, 'transient'],
    [599, 'transient'],
    [700, 'transient'],
  ])('returns by default for %i: %s', (status, expected) => {
    expect(classifyStatus(status, MAPPING)).toBe(expected);
  });

  test('a single status takes precedence over a class', () => {
    const mapping = { refused: ['4xx', 503], transient: [429, '5xx'] } as const;
    expect(classifyStatus(429, mapping)).toBe('transient');
    expect(classifyStatus(503, mapping)).toBe('refused');
    expect(classifyStatus(418, mapping)).toBe('refused');
  });

  test('404 is not-found even if the mapping has its class; only an entry for 404 changes that', () => {
    expect(classifyStatus(404, { refused: ['4xx'], transient: [] })).toBe('not-found');
    expect(classifyStatus(404, { refused: [404], transient: [] })).toBe('refused');
  });

  test('a 5xx that is not in the mapping is not retried', () => {
    expect(classifyStatus(501, { refused: [], transient: [503] })).toBe('rejected');
  });

  test('a redirect that the mapping lists under refused is a refusal', () => {
    expect(classifyStatus(302, { refused: [302], transient: [] })).toBe('refused');
  });
});

describe('refusalScope', () => {
  test.each([
    [401, 'Key lacks grant', 'key'],
    [402, 'whatever', 'plan'],
    [403, null, 'grant'],
    [403, 'Forbidden', 'grant'],
    [403, 'Your plan has no API access.', 'plan'],
    [403, 'Upgrade to use the API', 'plan'],
    [403, 'Subscription required', 'plan'],
    [403, 'Invalid API key', 'key'],
    [403, 'The api_key is unknown', 'key'],
    [403, 'Token is missing', 'key'],
    [403, 'The API key has been revoked', 'key'],
    [403, 'This key is missing the grant tasks:read', 'grant'],
    [403, 'Key lacks permission for time entries', 'grant'],
    [403, 'Not allowed on the planet tasks', 'grant'],
  ])('%i with %j is about the %s', (status, message, expected) => {
    expect(refusalScope(status, message)).toBe(expected);
  });
});
