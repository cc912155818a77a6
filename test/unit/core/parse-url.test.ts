import { describe, expect, it } from 'vitest';
import { parseUrl } from '../../../src/core/parse-url.js';

describe('parsing a URL', () => {
  it('accepts hosts beyond ASCII, however often it is called', () => {
    for (let call = 0; call < 20_000; call++) {
      if (parseUrl('https://bücher.example/a')?.host === 'xn--bcher-kva.example') continue;
      expect.fail(`call ${call}`);
    }
  });

  it('resolves a relative URL, and returns null for what is none', () => {
    expect(parseUrl('../b?c', 'https://one.example/a/x/y')?.href).toBe('https://one.example/a/b?c');
    for (const [text, base] of [['b'], ['http://'], ['//', 'https://one.example'], ['b', 'c']] as const)
      expect(parseUrl(text, base), text).toBeNull();
  });
});
