import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromByteString } from '../../../src/core/brands.js';
import { cellDecoder, cellEncoder, type Escaping } from '../../../src/lake/rows/escaping.js';
import { restored } from '../../support/oracle.js';
import { rounds } from '../../support/seeds.js';
import { anyText, bytes } from './data-plane.js';

const anyValue = fc.oneof(
  anyText,
  fc.string({ unit: fc.constantFrom('\\', 'n', 'r', '\n', '\r', 'é'), maxLength: 8 }),
  fc.string({ unit: fc.constantFrom("'", '=', '-', '\t', '\r', '\\', 'x'), maxLength: 5 }),
  fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', 'n', '\n'), maxLength: 8 }),
  fc.json(),
  fc.json().map((json) => JSON.stringify(JSON.parse(json), null, 1)),
);
const SETTINGS: readonly Escaping[] = [
  { lineBreaks: 'keep', escapeFormulas: true },
  { lineBreaks: 'escape', escapeFormulas: false },
  { lineBreaks: 'escape', escapeFormulas: true },
];

describe('Escapes of cells', () => {
  it('do nothing unless a setting asks for them', () => {
    const none: Escaping = { lineBreaks: 'keep', escapeFormulas: false };
    expect([cellEncoder(none), cellDecoder(none)]).toEqual([null, null]);
  });

  it.each(SETTINGS)('can be undone, so no two values give the same cell: %j', (escaping) => {
    const [encode, decode] = [cellEncoder(escaping)!, cellDecoder(escaping)!];
    fc.assert(
      fc.property(anyValue, (value) => {
        const cell = encode(bytes(value));
        expect(fromByteString(decode(cell))).toBe(value);
        // As the documentation says it.
        expect(restored(fromByteString(cell), escaping)).toBe(value);
        if (escaping.lineBreaks === 'escape') expect(cell).not.toMatch(/[\n\r]/);
        if (escaping.escapeFormulas) expect(fromByteString(cell)).not.toMatch(/^[=+\-@\t\r＝＋－＠]/);
      }),
      { numRuns: rounds(1000) },
    );
  });

  it.each(SETTINGS)('leave masked cells alone: %j', (escaping) => {
    for (const cell of ['[redacted]', 'a1'.repeat(32)])
      expect(cellDecoder(escaping)!(bytes(cell))).toBe(cell);
  });

  it.each([
    ['-x', "'-x"],
    ["'-x", "''-x"],
    ["''-x", "'''-x"],
    ["'x", "'x"],
    ["'", "'"],
  ])('put an apostrophe before a formula and before what would look like one: %s', (value, cell) => {
    expect(cellEncoder({ lineBreaks: 'keep', escapeFormulas: true })!(bytes(value))).toBe(cell);
  });
});
