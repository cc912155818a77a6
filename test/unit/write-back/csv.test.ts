import { describe, expect, it } from 'vitest';
import { noFacts } from '../../../src/core/value-facts.js';
import { fieldsOf, rowsOf } from './support.js';

const read = async (text: string | Buffer, piece?: number) =>
  (await rowsOf(text, 'csv', piece)).map(fieldsOf);

describe('a CSV input', () => {
  const awkward =
    '\ufeffname,note,"with, comma"\r\n' +
    '"a ""quoted"" one",,""\r\n' +
    '\r\n' +
    '"two\r\nlines",ключ,x\n' +
    'last,,';
  const expected = [
    { name: '"a \\"quoted\\" one"', 'with, comma': '""' },
    { name: '"two\\r\\nlines"', note: '"ключ"', 'with, comma': '"x"' },
    { name: '"last"' },
  ];

  it('is read with a byte order mark, CRLF, quotes and blank lines; an empty cell is omitted, "" is an empty string', async () => {
    expect(await read(awkward)).toEqual(expected);
  });

  it('gives the same rows for any chunk boundaries', async () => {
    for (let piece = 1; piece <= 40; piece++)
      expect(await read(awkward, piece), String(piece)).toEqual(expected);
  });

  it('has the first line of each row', async () => {
    const rows = await rowsOf('a\n"1\n1"\n2\n\n3', 'csv', 2);
    expect(rows.map(({ line }) => line)).toEqual([2, 4, 6]);
  });

  const faults: [what: string, text: string | Buffer, message: RegExp][] = [
    ['nothing', '', /the input is empty/],
    ['only white space', '\n \n', /the input is empty/],
    ['an unclosed quotation mark', 'a,b\n1,"2\n3,4\n', /line 2, column 3: an unclosed quotation mark/],
    [
      'a quotation mark in the middle',
      'a,b\nключ,x"y\n',
      /line 2, column 7: a quotation mark inside an unquoted cell/,
    ],
    ['text after a quotation mark', 'a\n"x"y\n', /line 2, column 4: text after the closing quotation mark/],
    ['an error after a cell with several lines', 'a,b\n"1\n2"x,3\n', /line 3, column 3: text after/],
    [
      'an error after a cell with CRLF and a bare carriage return',
      'a,b\r\n"1\r\n2\r3"x,3\r\n',
      /line 3, column 5: text after/,
    ],
    ['a NUL after a quotation mark', 'a\n"x"\0y\n', /line 2, column 4: text after/],
    ['a bare carriage return in a row', 'a,b\nx\ry,2\n', /line 2: the row has 1 cells, but the header has 2/],
    ['a row that is too long', 'a,b\n1,2\n1,2,3\n', /line 3: the row has 3 cells, but the header has 2/],
    ['a row that is too short', 'a,b\n1\n', /line 2: the row has 1 cells, but the header has 2/],
    ['a column without a name', 'a,,b\n', /line 1: column 2 has no name/],
    ['a duplicate name', 'a,b,a\n', /names "a" twice, in columns 1 and 3/],
    ['a duplicate name with another type', 'a,a:json\n', /names "a" twice/],
    [
      'a value in a last column without a name',
      'a,\n1,\n1,2\n',
      /line 3: .*column 2, which is not in the header/,
    ],
    [
      'UTF-16 without a mark',
      Buffer.from('a,b\n', 'utf16le'),
      /seems to be UTF-16 without a byte order mark/,
    ],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), /is UTF-32/],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0]), /compressed with gzip/],
    ['a spreadsheet', Buffer.from('PK\x03\x04xxxx'), /a spreadsheet/],
    ['Latin-1', Buffer.from('a\ncaf\xe9\n', 'latin1'), /line 2: the text is not UTF-8/],
  ];
  for (const [what, text, message] of faults) {
    it(`is rejected for ${what}, whole and in chunks`, async () => {
      await expect(read(text)).rejects.toThrow(message);
      await expect(read(text, 1)).rejects.toThrow(message);
    });
  }

  it('is rejected for an endless row before it fills the memory', async () => {
    await expect(read(`a\n"${'x'.repeat(9 * 1024 * 1024)}`, 65_536)).rejects.toThrow(
      /line 2: .*longer than 8 MiB/,
    );
  });

  it('is rejected for an endless row of short cells before it fills the memory', async () => {
    await expect(read(`a\n${'fifteen letters,'.repeat(9 * 65_536)}`, 65_536)).rejects.toThrow(
      /line 2: .*longer than 8 MiB/,
    );
  });

  it('quotes no value in its messages, because histories may contain them', async () => {
    const error = await read('n:integer\nsecret-value\n').catch((thrown: Error) => thrown);
    expect(String(error)).toContain('the cell of n is not an integer');
    expect(String(error)).not.toContain('secret-value');
  });
});

describe('a cell', () => {
  const one = async (type: string, cell: string) => (await read(`x:${type}\n${cell}\n`))[0]!.x;

  it('keeps the literal of a number', async () => {
    for (const literal of ['9007199254740993', '-0', '123456789012345678901234567890'])
      expect(await one('integer', literal)).toBe(literal);
    for (const literal of ['12.50', '1e21', '1E-7', '-0.10'])
      expect(await one('number', literal)).toBe(literal);
    expect(await one('json', '"{""a"": [1.0, 9007199254740993]}"')).toBe('{"a":[1.0,9007199254740993]}');
  });

  it('is true or false in any case', async () => {
    expect([await one('boolean', 'TRUE'), await one('boolean', 'False')]).toEqual(['true', 'false']);
  });

  it('is text by default, and if its header declares text', async () => {
    expect(await read('x,y:string\n1,2\n')).toEqual([{ x: '"1"', y: '"2"' }]);
  });

  for (const [type, cell] of [
    ['integer', '1.0'],
    ['integer', ' 1'],
    ['integer', '01'],
    ['integer', '""'],
    ['number', '1.'],
    ['number', 'NaN'],
    ['boolean', 'yes'],
    ['json', '{a:1}'],
    ['json', '1 2'],
  ]) {
    it(`is rejected if ${cell} must be ${type}`, async () => {
      await expect(one(type!, cell!)).rejects.toThrow(/line 2: the cell of x is not/);
    });
  }

  it('has the type from the header, otherwise from the batch, otherwise from the published snapshot', async () => {
    const types = {
      published: [
        { name: 'a', types: 1 | 4, values: noFacts() },
        { name: 'b', types: 4 | 8, values: noFacts() },
        { name: 'c', types: 4 | 16, values: noFacts() },
        { name: 'd', types: 64, values: noFacts() },
        { name: 'e', types: 2, values: noFacts() },
        { name: 'source', types: 4, values: noFacts() },
      ],
      fixed: { e: 'string' as const },
      text: ['source'],
    };
    const [row] = await rowsOf('a,b,c,d,e,source\n1,1.50,1,[1],true,7\n', 'csv', 100, types);
    expect(fieldsOf(row!)).toEqual({ a: '1', b: '1.50', c: '"1"', d: '[1]', e: '"true"', source: '"7"' });
    await expect(rowsOf('e:boolean\ntrue\n', 'csv', 100, types)).rejects.toThrow(
      'was started with e as string',
    );
  });
});
