import { describe, expect, test } from 'vitest';
import { redirectPath } from '../../../src/api/redirect.js';

const origin = 'https://t.example';
const path = '/api/public/v2/tasks?limit=10&cursor=a%2Bb';
const to = (location: string | null, status = 301, method: 'GET' | 'POST' | 'PUT' = 'GET') =>
  redirectPath(status, location, { method, origin, path });

describe('a redirect of a read', () => {
  test.each([
    ['/api/public/v2/tasks/?limit=10&cursor=a%2Bb', '/api/public/v2/tasks/?limit=10&cursor=a%2Bb'],
    ['https://t.example/api/public/v2/tasks/', '/api/public/v2/tasks/?limit=10&cursor=a%2Bb'],
    ['https://t.example:443/x', '/x?limit=10&cursor=a%2Bb'],
    ['tasks/', '/api/public/v2/tasks/?limit=10&cursor=a%2Bb'],
    ['../v3/tasks', '/api/public/v3/tasks?limit=10&cursor=a%2Bb'],
    ['?limit=10&cursor=a%2Bb&node=7', '/api/public/v2/tasks?limit=10&cursor=a%2Bb&node=7'],
    ['/api/public/v2/tasks?node=7', '/api/public/v2/tasks?node=7&limit=10&cursor=a%2Bb'],
    ['/other?limit=5', '/other?limit=5&cursor=a%2Bb'],
    ['/other#part', '/other?limit=10&cursor=a%2Bb'],
  ])(
    'a redirect of a read to %s in the same origin asks for %s, with every parameter',
    (location, expected) => {
      for (const status of [301, 302, 303, 307, 308]) expect(to(location, status)).toBe(expected);
    },
  );

  test.each([
    'http://t.example/api/public/v2/tasks/',
    'https://t.example:8443/api/public/v2/tasks/',
    'https://www.t.example/api/public/v2/tasks/',
    'https://t.example.evil.example/',
    '//evil.example/api/public/v2/tasks/',
    'https://t.example@evil.example/',
    '\\\\evil.example/tasks',
    'javascript:alert(1)',
    'http://',
    null,
  ])('a redirect of a read to %s is not followed', (location) => {
    expect(to(location)).toBeNull();
  });

  test.each([
    [200, 'GET'],
    [300, 'GET'],
    [304, 'GET'],
    [307, 'POST'],
    [308, 'PUT'],
  ] as const)('a redirect of a read with status %i to a %s is not followed', (status, method) => {
    expect(to('/api/public/v2/tasks/', status, method)).toBeNull();
  });
});
