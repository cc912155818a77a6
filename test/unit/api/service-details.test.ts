import { expect, it } from 'vitest';
import { createRedactor } from '../../../src/api/index.js';
import { serviceDetails } from '../../../src/api/service-message.js';

const redact = createRedactor(['wt_secret_0123456789']);

it.each([
  [{ message: 'no', details: [{ field: 'limit' }] }, '{"message":"no","details":[{"field":"limit"}]}'],
  [
    { error: 'no', errors: { limit: ['max 100'] }, timestamp: 1 },
    '{"error":"no","errors":{"limit":["max 100"]}}',
  ],
  [
    { title: 'no', 'invalid-params': [{ name: 'limit' }] },
    '{"title":"no","invalid-params":[{"name":"limit"}]}',
  ],
  [{ detail: 'key wt_secret_0123456789' }, '{"detail":"key [redacted]"}'],
  [[{ field: 'limit' }], '[{"field":"limit"}]'],
])('The details of the error %j name the part of the request that it is about', (body, expected) => {
  expect(serviceDetails(JSON.stringify(body), redact)).toBe(expected);
});

it('The details of an error are short, and none if its body is no JSON', () => {
  expect(serviceDetails('<html>', redact)).toBe('');
  expect(serviceDetails('null', redact)).toBe('');
  expect(serviceDetails(JSON.stringify({ details: 'x'.repeat(100_000) }), redact)).toHaveLength(2000);
});
