import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../support/seeds.js';
import { fieldsOf, rowsOf } from './support.js';

const AWKWARD =
  '[ {"a" : "}]\\"{[" , "b":[1, {"c":2.50}]},\r\n\t{}, {"ключ":"\\ud800\\\\","n":9007199254740993} ]\n';
const EXPECTED = [
  { a: '"}]\\"{["', b: '[1,{"c":2.50}]' },
  { ключ: '"\\ud800\\\\"', n: '9007199254740993' },
];

describe('a JSON input', () => {
  it('gives the same rows for any chunk boundaries', async () => {
    for (let piece = 1; piece <= 30; piece++)
      expect((await rowsOf(AWKWARD, 'json', piece)).map(fieldsOf)).toEqual(EXPECTED);
  });

  it('preserves every JSON value, in both formats and for chunks of any size', async () => {
    const records = fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(records, fc.integer({ min: 1, max: 50 }), async (values, piece) => {
        const array = await rowsOf(JSON.stringify(values, null, 1), 'json', piece);
        const lines = values.map((value) => JSON.stringify(value)).join('\n');
        const ndjson = lines === '' ? [] : await rowsOf(lines, 'ndjson', piece);
        // An object without any value is not a row.
        const withValue = values.filter((value) => Object.values(value).some((one) => one !== null));
        const expected = withValue.map((value) =>
          Object.fromEntries(Object.entries(value).map(([k, v]) => [k.toWellFormed(), JSON.stringify(v)])),
        );
        expect(array.map(fieldsOf)).toEqual(expected);
        expect(ndjson.map(fieldsOf)).toEqual(expected);
      }),
      { numRuns: rounds(60) },
    );
  });

  const faults: [what: string, text: string, format: 'json' | 'ndjson', message: RegExp][] = [
    ['no array', '{"a":1}', 'json', /line 1, column 1: expected an array of objects.*/],
    ['an element that is not an object', '[1]', 'json', /line 1, column 2: expected an object/],
    ['a missing comma', '[{}\n {}]', 'json', /line 2, column 2: expected "," or "\]"/],
    ['an extra comma', '[{},]', 'json', /line 1, column 5: expected an object/],
    ['an unclosed array', '[{"a":1}', 'json', /line 1, column 9: the array is not closed/],
    ['an unclosed object', '[{"a":1', 'json', /the array is not closed/],
    ['text after the array', '[]\n[]', 'json', /line 2, column 1: text after the end of the array/],
    ['a bad value', '[\n {"ключ": nul}]', 'json', /line 2, column 11: expected a value/],
    ['a duplicate field', '[{"a":1,"a":2}]', 'json', /line 1, column 9: a duplicate field/],
    ['a line that is not an object', '{}\n[]\n', 'ndjson', /line 2, column 1: expected an object/],
    ['two objects on one line', '{} {}\n', 'ndjson', /line 1, column 4: text after the end of the object/],
    ['an object on two lines', '{"a":\n1}\n', 'ndjson', /line 1, column 6: the object is not closed/],
    [
      'a last object that is not closed',
      '{}\n{"a":tr',
      'ndjson',
      /line 2, column 8: the object is not closed/,
    ],
    ['an unescaped line break', '[{},\n {"a":"x\ny"}]', 'json', /line 2, column 9: a string contains an/],
    ['an unescaped tab in a later object', '{"a":\t1}\n{"b":"\t"}', 'ndjson', /line 2, column 7: a string/],
    ['an unknown escape', '[{"a":"\\x"}]', 'json', /line 1, column 7: unknown escape/],
    ['a missing colon', '[{"a" 1}]', 'json', /line 1, column 7: expected ":"/],
    ['a missing comma between fields', '[{"a":1 "b":2}]', 'json', /line 1, column 9: expected "," or "}"/],
    ['nothing', ' \n', 'ndjson', /the input is empty/],
  ];
  for (const [what, text, format, message] of faults) {
    it(`is rejected for ${what} in ${format}, whole and in chunks`, async () => {
      await expect(rowsOf(text, format)).rejects.toThrow(message);
      await expect(rowsOf(text, format, 1)).rejects.toThrow(message);
    });
  }

  it('is rejected for text that is not UTF-8, with the position of its object', async () => {
    const latin1 = Buffer.from('[{"a":"ok"},\n {"b":"caf\xe9"}]', 'latin1');
    for (const piece of [1, 1 << 20])
      await expect(rowsOf(latin1, 'json', piece)).rejects.toThrow(/line 2, column 2: the text is not UTF-8/);
  });

  it.each(['json', 'ndjson'] as const)(
    'is rejected for an endless object before it fills the memory (%s)',
    async (format) => {
      const text = `${format === 'json' ? '[' : ''}{"a":1}${format === 'json' ? ',' : ''}\n{"a":"${'x'.repeat(9 << 20)}`;
      await expect(rowsOf(text, format, 65_536)).rejects.toThrow(
        /line 2, column 1: the object that starts here is longer than 8 MiB/,
      );
    },
  );

  it('can be an empty array, and can have a byte order mark', async () => {
    expect(await rowsOf('\ufeff[ ]\n', 'json')).toEqual([]);
  });
});
