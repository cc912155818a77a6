import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundMessage, createRedactor, REDACTED } from '../../../src/api/index.js';
import { KEY } from './support.js';

/** Long enough for every form, and without characters of the marker. */
const secret = fc.string({ unit: fc.constantFrom(...'WXYZ0189_-.+/="&<%\\'), minLength: 9, maxLength: 40 });
const around = fc.string({ maxLength: 20 });

const lowerHex = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
const everyByte = (text: string): string => [...Buffer.from(text)].map((b) => `%${b.toString(16)}`).join('');

const FORMS: Record<string, (text: string) => string> = {
  plain: (text) => text,
  'JSON-escaped': (text) => JSON.stringify(text).slice(1, -1),
  'JSON-escaped twice': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  'JSON-escaped with slashes': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': (text) => lowerHex(encodeURIComponent(text)),
  'percent-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'percent-encoded byte by byte': everyByte,
  Base64: (text) => Buffer.from(text).toString('base64'),
  'URL-safe Base64': (text) => Buffer.from(text).toString('base64url'),
  'HTML-escaped': (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
};

describe('createRedactor', () => {
  test.each(Object.entries(FORMS))('finds a secret that is %s, at any position', (_, encode) => {
    fc.assert(
      fc.property(secret, around, around, (value, before, after) => {
        const redacted = createRedactor([value])(`${before} ${encode(value)} ${after}`);
        expect(redacted).toContain(REDACTED);
        expect(redacted.includes(encode(value))).toBe(false);
      }),
    );
  });

  test('finds a secret in the middle of a longer Base64 text, such as basic credentials', () => {
    fc.assert(
      fc.property(secret, around, around, (value, before, after) => {
        const redacted = createRedactor([value])(Buffer.from(`${before}${value}${after}`).toString('base64'));
        expect(Buffer.from(redacted, 'base64').includes(value)).toBe(false);
        expect(redacted).toContain(REDACTED);
      }),
    );
  });

  test('does not change a text without secrets', () => {
    fc.assert(
      fc.property(fc.string(), (text) => createRedactor([KEY])(text) === text || /bearer/i.test(text)),
    );
  });

  test('redacting again changes nothing', () => {
    const text = fc
      .array(fc.constantFrom(KEY, 'Bearer', ' ', '=', REDACTED, 'abc', '"', ']'))
      .map((p) => p.join(''));
    const redact = createRedactor([KEY]);
    fc.assert(fc.property(text, (t) => redact(redact(t)) === redact(t)));
  });

  test('replaces every bearer token, even an unknown one', () => {
    const redact = createRedactor([]);
    expect(redact('got "authorization: bearer abc.DEF-1" here')).toBe(
      `got "authorization: Bearer ${REDACTED}" here`,
    );
    expect(redact('Bearer%20abc')).toBe(`Bearer ${REDACTED}`);
  });

  test('replaces a secret that contains another one as a whole', () => {
    expect(createRedactor(['abcd', 'abcd-efgh'])('x abcd-efgh y')).toBe(`x ${REDACTED} y`);
  });

  test('an empty secret redacts nothing', () => {
    expect(createRedactor([''])('text')).toBe('text');
  });
});

describe('boundMessage', () => {
  test('is never longer than the limit and contains no control characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 100 }),
        fc.integer({ min: 1, max: 50 }),
        (text, max) => {
          const bounded = boundMessage(text, max);
          expect(bounded.length).toBeLessThanOrEqual(max);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
          expect(bounded).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        },
      ),
    );
  });

  test('keeps a short message and removes terminal escapes', () => {
    expect(boundMessage('no such task')).toBe('no such task');
    expect(boundMessage('a\u001b[31mb\r\n c')).toBe('a [31mb c');
  });
});
