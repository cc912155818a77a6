import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundMessage, createRedactor, quoteText, REDACTED } from '../../../src/api/index.js';
import { safeCause } from '../../../src/api/redact.js';
import { KEY } from './support.js';

/** Long enough for every form, and without characters of the marker. */
const secret = fc.string({ unit: fc.constantFrom(...'WXYZ0189_-.+/="&<%\\'), minLength: 9, maxLength: 40 });
const around = fc.string({ maxLength: 20 });

const lowerHex = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
const everyByte = (text: string): string => [...Buffer.from(text)].map((b) => `%${b.toString(16)}`).join('');

const bytesOf = (text: string, form: (byte: number) => string, separator = ''): string =>
  [...Buffer.from(text)].map(form).join(separator);
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

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
  'in capitals': (text) => text.toUpperCase(),
  hexadecimal: (text) => bytesOf(text, hex),
  'hexadecimal in capitals': (text) => bytesOf(text, hex).toUpperCase(),
  'hexadecimal with colons': (text) => bytesOf(text, hex, ':'),
  'hexadecimal with blanks': (text) => bytesOf(text, hex, ' '),
  'hexadecimal with 0x': (text) => bytesOf(text, (byte) => `0x${hex(byte)}`, ', '),
  'escaped with \\x': (text) => bytesOf(text, (byte) => `\\x${hex(byte)}`),
  'escaped with \\u': (text) => bytesOf(text, (byte) => `\\u00${hex(byte)}`),
  'octal escapes': (text) => bytesOf(text, (byte) => `\\${byte.toString(8)}`),
  'octal escapes of three digits': (text) =>
    bytesOf(text, (byte) => `\\${byte.toString(8).padStart(3, '0')}`),
  'an octal dump': (text) => bytesOf(text, (byte) => byte.toString(8).padStart(3, '0'), ' '),
  'a buffer as JSON': (text) => JSON.stringify(Buffer.from(text)),
  'numeric entities': (text) => bytesOf(text, (byte) => `&#${byte};`),
  'hexadecimal entities': (text) => bytesOf(text, (byte) => `&#x${hex(byte)};`),
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

describe('the beginning of a text', () => {
  test('never shows a part of a secret, wherever the text is cut', () => {
    fc.assert(
      fc.property(
        secret,
        fc.array(fc.constantFrom('a', ' ', '\n', KEY), { maxLength: 30 }),
        fc.integer({ min: 1, max: 60 }),
        (value, before, limit) => {
          const redact = createRedactor([value, KEY]);
          const text = `${before.join('')}${value}${'b'.repeat(50)}`;
          const shown = redact.head(text, limit);
          expect(redact(text).startsWith(shown)).toBe(true);
          expect(quoteText(text, redact, limit).length).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });

  test('hides a whole id that consists of what an escape begins with', () => {
    for (const id of ['\\'.repeat(40), '%'.repeat(40), '&'.repeat(40)])
      expect(createRedactor([], [id])(`no record ${id}!`)).toBe('no record <id>!');
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

test('a copied error has copies of its causes, and no other', () => {
  const error = new Error('outer', { cause: new Error(`of ${KEY}`) });
  const copy = safeCause(error, createRedactor([KEY]));
  expect(copy.cause).toMatchObject({ message: `of ${REDACTED}` });
  expect((copy.cause as Error).cause).toBeUndefined();
});

test('the forms of secrets are derived once, although each failed request has a redactor', () => {
  const cpu = (secrets: readonly string[]): number => {
    const before = process.cpuUsage();
    createRedactor(secrets, ['record-1']);
    return process.cpuUsage(before).user;
  };
  const sets = Array.from({ length: 3 }, (_, set) =>
    Array.from({ length: 300 }, (_, index) => `a known secret with the number ${set}-${index}`),
  );
  const first = sets.map(cpu);
  const again = sets.map(cpu);
  expect(Math.min(...again)).toBeLessThan(Math.min(...first) / 4);
});
