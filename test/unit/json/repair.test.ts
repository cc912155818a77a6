import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromByteString, toByteString } from '../../../src/core/brands.js';
import { repairJson } from '../../../src/json/repair.js';

const repair = (text: string) => {
  const repaired = repairJson(toByteString(text));
  return repaired === null ? null : [fromByteString(repaired.text), repaired.repairs];
};

describe('JSON with common deviations', () => {
  it.each([
    ['{"a":"tab\there"}', '{"a":"tab\\u0009here"}', 1],
    ['["line\r\nbreak","\u0000\u001f"]', '["line\\u000d\\u000abreak","\\u0000\\u001f"]', 4],
    ['{"na\tme":1}', '{"na\\u0009me":1}', 1],
    ['{"a":NaN,"b":[Infinity,-Infinity]}', '{"a":null,"b":[null,null]}', 3],
    ['NaN', 'null', 1],
    [
      '{"a":"NaN is \t no number","b":-1,"c":-Infinity}',
      '{"a":"NaN is \\u0009 no number","b":-1,"c":null}',
      2,
    ],
    ['{"a":"quote \\" and \n"}', '{"a":"quote \\" and \\u000a"}', 1],
  ])('becomes JSON: %j', (text, expected, repairs) => {
    expect(repair(text)).toEqual([expected, repairs]);
  });

  it.each([
    '{"a":1}',
    '{"a":"NaN"}',
    '\t{\n"a" :\r1}',
    '{"a":NaNny}',
    '{"a":NaN',
    '{"a":"\t',
    '{"a":"\t",}',
    'nan',
    '-',
  ])('is null for what needs no repair, or cannot be repaired: %j', (text) => {
    expect(repair(text)).toBeNull();
  });

  it('keeps every value, whatever the characters of its strings', () => {
    const value = fc.jsonValue({ stringUnit: 'binary' });
    fc.assert(
      fc.property(value, (json) => {
        const text = JSON.stringify([json, '\t']);
        // JSON.stringify escapes control characters; a lax writer does not.
        const raw = text.replace(/\\u00([01][0-9a-f])|\\[tnrbf]/g, (one) => JSON.parse(`"${one}"`) as string);
        expect(JSON.parse(repair(raw)![0] as string)).toEqual(JSON.parse(text));
      }),
    );
  });
});
