import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLineBreaks } from '../../../../src/lake/part/part-writer.js';

describe('The line breaks of a text', () => {
  it('are those that a reader of lines finds, whether LF, CR or CRLF', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é'), maxLength: 12 });
    fc.assert(
      fc.property(text, (some) => {
        expect(countLineBreaks(Buffer.from(some))).toBe(some.split(/\r\n|\n|\r/).length - 1);
      }),
    );
  });
});
