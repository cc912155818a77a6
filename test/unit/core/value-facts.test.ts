import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addFacts,
  Format,
  noFacts,
  noteNumber,
  noteString,
  stringFormat,
} from '../../../src/core/value-facts.js';

describe('The format of a string', () => {
  it.each([
    ['2026-11-21', Format.date],
    ['2024-02-29', Format.date],
    ['1899-12-31', Format.date | Format.distant],
    ['2026-11-21T02:00:00Z', Format.millis],
    ['2026-11-21T02:00:00.123Z', Format.millis],
    ['2026-11-21T02:00:00.1234+14:00', Format.micros],
    ['2026-11-21T02:00:00.123456-05:30', Format.micros],
    ['9999-12-31T23:59:59Z', Format.millis | Format.distant],
  ])('%s is a date or a time with a zone', (text, format) => {
    expect(stringFormat(text)).toBe(format);
  });

  it.each([
    ...[
      '',
      'x',
      '2026-11',
      '2026-11-31',
      '2023-02-29',
      '2026-13-01',
      '0000-01-01',
      '2026-11-2a',
      '+026-11-21',
    ],
    ...['2026-11-21T02:00:00', '2026-11-21 02:00:00Z', '2026-11-21t02:00:00z', '2026-11-21T24:00:00Z'],
    ...['2026-11-21T02:00:60Z', '2026-11-21T02:00Z', '2026-11-21T02:00:00.Z', '2026-11-21T02:00:00.1234567Z'],
    ...['2026-11-21T02:00:00+14:01', '2026-11-21T02:00:00-00:00', '2026-11-21T02:00:00+0100', '2026-11-21Z'],
    ...['2026-11-21T02:00:00Z ', ' 2026-11-21', '2026-11-21T02:00:00+01:60'],
  ])('%j is text', (text) => {
    expect(stringFormat(text)).toBe(Format.text);
  });

  it('is a time for every time that exists, with any zone', () => {
    const date = fc.date({ min: new Date('1900-01-02'), max: new Date('2299-12-30'), noInvalidDate: true });
    fc.assert(
      fc.property(date, fc.integer({ min: -839, max: 839 }), (at, offset) => {
        const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
        const zone = `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
        expect(stringFormat(`${local}${zone}`)).toBe(Format.millis);
        expect(stringFormat(at.toISOString().slice(0, 10))).toBe(Format.date);
      }),
    );
  });
});

describe('The facts of a column', () => {
  it('have the most digits on each side of the point, and note integers beyond 64 bits', () => {
    const facts = noFacts();
    expect(['-12.50', '7', '-9223372036854775808', '0.125'].map((text) => noteNumber(facts, text))).toEqual([
      ...[false, true, true, false],
    ]);
    expect(facts).toEqual({ formats: 0, whole: 19, fraction: 3 });
    noteNumber(facts, '-9223372036854775809');
    expect(facts.formats).toBe(Format.wide);
    expect(noteNumber(facts, '1E5')).toBe(false);
    expect(facts.formats).toBe(Format.wide | Format.exponent);
  });

  it('are the same, in whatever order and in how many runs the values come', () => {
    const value = fc.oneof(
      fc
        .constantFrom('2026-11-21', '2026-11-21T02:00:00Z', '', 'text', '1700-01-01')
        .map((text) => ({ text })),
      fc.constantFrom('1', '-1.25', '1e3', '9'.repeat(25)).map((number) => ({ number })),
    );
    const factsOf = (values: readonly ({ text: string } | { number: string })[]) => {
      const facts = noFacts();
      for (const one of values) {
        if ('text' in one) noteString(facts, one.text);
        else noteNumber(facts, one.number);
      }
      return facts;
    };
    fc.assert(
      fc.property(fc.array(value), fc.array(value), (first, then) => {
        const merged = noFacts();
        addFacts(merged, factsOf(then));
        addFacts(merged, factsOf(first));
        const { formats, ...digits } = factsOf([...first, ...then]);
        expect(merged).toMatchObject(digits);
        // After text, nothing else about strings is noted, because text is the type in any case.
        expect(merged.formats & formats).toBe(formats);
        expect((merged.formats | formats) & Format.text).toBe(formats & Format.text);
      }),
    );
  });
});
