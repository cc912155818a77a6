import { describe, expect, it } from 'vitest';
import { notifyUrlProblem } from '../../../src/core/notify-url.js';

describe('The URL of a target for alerts', () => {
  it.each(['https://hooks.example.com/T0/B1', 'http://127.0.0.1:80/x', 'http://localhost', 'http://[::1]:1'])(
    'may be %s',
    (url) => expect(notifyUrlProblem(url)).toBeNull(),
  );

  it.each([
    ['http://hooks.example.com', 'plain http'],
    ['https://user:word@hooks.example.com', 'credentials'],
    ['ftp://hooks.example.com', 'not an http'],
    ['hooks.example.com', 'not a URL'],
  ])('may not be %s, and the problem does not repeat it', (url, problem) => {
    expect(notifyUrlProblem(url)).toContain(problem);
    expect(notifyUrlProblem(url)).not.toContain('example');
  });
});
