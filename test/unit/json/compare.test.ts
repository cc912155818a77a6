import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../src/core/brands.js';
import { type Comparison, compareValues } from '../../../src/json/compare.js';
import { JsonScanner } from '../../../src/json/scanner.js';
import { type JsonValue, readValue } from '../../../src/json/value.js';

function parse(text: string): JsonValue {
  return readValue(new JsonScanner(toByteString(text)));
}

function compare(expected: string, shown: string | null): Comparison {
  return compareValues(parse(expected), shown === null ? null : parse(shown));
}

const SAME: readonly (readonly [expected: string, shown: string])[] = [
  ['12.5', '12.50'],
  ['1e3', '1000'],
  ['-0', '0'],
  ['0.1', '1e-1'],
  ['9007199254740993', '9007199254740993.0'],
  ['12.5', '"12.50"'],
  ['"12.50"', '12.5'],
  ['"true"', 'true'],
  ['true', '"true"'],
  ['"  Kick-off "', '"Kick-off"'],
  ['"Caf\\u00e9"', '"Cafe\\u0301"'],
  ['""', '"  "'],
  ['null', 'null'],
  ['"2026-11-20T08:00:00Z"', '"2026-11-20T09:00:00+01:00"'],
  ['"2026-11-20T08:00Z"', '"2026-11-20T08:00:00.000Z"'],
  ['"2026-11-20T08:00:00.1Z"', '"2026-11-20T08:00:00.1000000Z"'],
  ['"2026-11-20T08:00:00Z"', '"2026-11-20 08:00:00Z"'],
  ['"2026-11-20T08:00:00Z"', '"20261120T080000Z"'],
  ['"2026-11-20T08:00:00Z"', '1795161600'],
  ['"2026-11-20T08:00:00Z"', '1795161600000'],
  ['1795161600', '"2026-11-20T08:00:00Z"'],
  ['"2026-11-20T08:00:00"', '"2026-11-20 08:00"'],
  ['"2026-11-20T08:00:00"', '"2026-11-20T07:00:00Z"'],
  ['"2026-11-20"', '"2026-11-20T00:00:00Z"'],
  ['"2026-11-20"', '"20261120"'],
  ['{"id":1,"tags":["a"]}', '{"tags":["a"],"id":1.0,"more":true}'],
];

const DIFFERENT: readonly (readonly [expected: string, shown: string])[] = [
  ['"P7"', 'null'],
  ['null', '"P7"'],
  ['"null"', 'null'],
  ['""', 'null'],
  ['true', 'false'],
  ['9007199254740993', '9007199254740992'],
  ['5400', '5000'],
  ['12.345', '12.35'],
  ['"007"', '7'],
  ['"1.10"', '"1.1"'],
  ['"a b"', '"ab"'],
  ['"Kick-off"', '"kick-off"'],
  ['"2026-11-20T08:00:00Z"', '"2026-11-20T07:00:00Z"'],
  ['"2026-11-20T08:00:00+01:00"', '"2026-11-20T08:00:00Z"'],
  ['"2026-11-20T08:00:00.123Z"', '"2026-11-20T08:00:00Z"'],
  ['"2026-11-20T08:00:00.1234567Z"', '"2026-11-20T08:00:00.123456Z"'],
  ['"2026-11-20T08:00:00Z"', '"2026-11-20"'],
  ['"2026-11-20T08:00:00Z"', '1795161601'],
  ['1795161600', '1795161600000'],
  ['"2026-11-20"', '"2026-11-21"'],
  ['"2026-11-20T08:00:00"', '"2026-11-20T08:30:00"'],
  ['[1,2]', '[2,1]'],
  ['[1,2]', '[1]'],
  ['{"a":1,"b":2}', '{"a":2}'],
  ['{"a":1}', '"{\\"a\\":1}"'],
];

describe('a comparison with what the service shows', () => {
  it.each(SAME)('finds no difference between %s and %s', (expected, shown) => {
    expect(compare(expected, shown)).toBe('same');
  });

  it.each(DIFFERENT)('finds a difference between %s and %s', (expected, shown) => {
    expect(compare(expected, shown)).toBe('different');
  });

  it('says what is not shown', () => {
    expect(compare('"P7"', null)).toBe('absent');
    expect(compare('{"a":1,"b":2}', '{"a":1.0}')).toBe('absent');
  });

  it('finds that every value equals itself, however JSON writes it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(compare(text, text)).toBe('same');
      }),
    );
  });

  it('tells any two instants apart, and finds each in another zone', () => {
    const instant = fc.integer({ min: Date.UTC(1995, 0), max: Date.UTC(2090, 0) });
    fc.assert(
      fc.property(instant, instant, fc.integer({ min: -23, max: 23 }), (one, other, hours) => {
        const local = new Date(other + hours * 3_600_000).toISOString().slice(0, -1);
        const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
        const found = compare(`"${new Date(one).toISOString()}"`, `"${local}${zone}"`);
        expect(found).toBe(one === other ? 'same' : 'different');
        expect(compare(`"${new Date(other).toISOString()}"`, `"${local}${zone}"`)).toBe('same');
      }),
    );
  });

  it('takes no more than linear time for a hostile value', () => {
    const zeros = `1${'0'.repeat(500_000)}1`;
    const spaces = `${' '.repeat(500_000)}x`;
    const started = performance.now();
    expect(compare(zeros, `${zeros}0`)).toBe('different');
    expect(compare(JSON.stringify(spaces), JSON.stringify(`${spaces}${spaces}`))).toBe('different');
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
