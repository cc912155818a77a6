import { afterAll, describe, expect, it } from 'vitest';
import { fromDecimalComma } from '../../../src/write-back/cell-reader.js';
import { DateReader } from '../../../src/write-back/dates.js';
import { StagedFiles } from './staged.js';

describe('a number with a decimal comma', () => {
  const clear: [text: string, number: string][] = [
    ['1,5', '1.5'],
    ['-0,50', '-0.50'],
    ['3600', '3600'],
    ['1.234,50', '1234.50'],
    ['1.234.567', '1234567'],
    ['12.345.678,9', '12345678.9'],
    ['1 234,5', '1234.5'],
    ['1\u00a0234\u00a0567', '1234567'],
    ['1\u202f234,5', '1234.5'],
    ["1'234,5", '1234.5'],
    ['1’234', '1234'],
    ['9007199254740993,0', '9007199254740993.0'],
    ['1,5E+3', '1.5E+3'],
  ];
  for (const [text, number] of clear)
    it(`is read if it is clear: ${text}`, () => expect(fromDecimalComma(text)).toBe(number));

  for (const text of [
    '1.234',
    '12.50',
    '1,234,567',
    '1.23,4',
    '1.2345,6',
    '0.123,4',
    '1,',
    ',5',
    '1 23',
    '€ 5',
    '',
  ])
    it(`is refused if it is not: ${JSON.stringify(text)}`, () => expect(fromDecimalComma(text)).toBeNull());
});

describe('a date in a given format', () => {
  const read = (text: string, format = 'dd.MM.yyyy HH:mm', zone: string | null = 'Europe/Berlin') =>
    new DateReader([format], zone).read(text);
  const dates: [text: string, format: string, zone: string | null, iso: string][] = [
    ['02.11.2026 08:00', 'dd.MM.yyyy HH:mm', 'Europe/Berlin', '2026-11-02T07:00:00Z'],
    ['02.07.2026 08:00', 'dd.MM.yyyy HH:mm', 'Europe/Berlin', '2026-07-02T06:00:00Z'],
    ['29.03.2026 01:59', 'dd.MM.yyyy HH:mm', 'Europe/Berlin', '2026-03-29T00:59:00Z'],
    ['29.03.2026 03:00', 'dd.MM.yyyy HH:mm', 'Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['25.10.2026 03:00', 'dd.MM.yyyy HH:mm', 'Europe/Berlin', '2026-10-25T02:00:00Z'],
    ['30.09.2026 23:30', 'dd.MM.yyyy HH:mm', 'Pacific/Auckland', '2026-09-30T10:30:00Z'],
    ['2.11.26', 'd.M.yy', null, '2026-11-02'],
    ['11/2/2026 8:05 PM', 'M/d/yyyy h:mm a', 'America/New_York', '2026-11-03T01:05:00Z'],
    ['2026-11-02 08:00:01.250', 'yyyy-MM-dd HH:mm:ss.SSS', 'UTC', '2026-11-02T08:00:01.250Z'],
    ['02.11.2026 08:00 +0130', 'dd.MM.yyyy HH:mm ZZZ', null, '2026-11-02T06:30:00Z'],
    ['29.02.2028', 'dd.MM.yyyy', null, '2028-02-29'],
  ];
  for (const [text, format, zone, iso] of dates)
    it(`is ISO 8601: ${text}`, () => expect(read(text, format, zone)).toEqual({ iso }));

  for (const text of [
    '30.02.2026 08:00',
    '29.02.2026 08:00',
    '2.11.2026 08:00',
    '02.11.2026 8:00',
    '02.11.2026',
    '02.13.2026 08:00',
    ' 02.11.2026 08:00',
  ])
    it(`does not have the format: ${text}`, () => expect(read(text)).toBeNull());

  it('is a problem if the clocks skip it or show it twice', () => {
    expect(read('29.03.2026 02:30')).toMatchObject({
      problem: expect.stringContaining('does not exist in Europe/Berlin'),
    });
    expect(read('25.10.2026 02:30')).toMatchObject({
      problem: expect.stringContaining('occurs twice in Europe/Berlin'),
      remedy: 'Write the cell in ISO 8601 with its offset (+02:00 or +01:00).',
    });
  });

  it('is a problem if two formats give it two meanings', () => {
    const both = new DateReader(['dd/MM/yyyy', 'MM/dd/yyyy'], null);
    expect(both.read('02/11/2026')).toMatchObject({ problem: expect.stringContaining('two meanings') });
    expect(both.read('02/02/2026')).toEqual({ iso: '2026-02-02' });
    expect(both.read('13/11/2026')).toEqual({ iso: '2026-11-13' });
  });

  it('is a problem in a year that no record is of', () => {
    const year = { problem: expect.stringContaining('in the year 26') };
    expect(read('26-11-2', 'y-M-d')).toMatchObject(year);
    expect(read('02.11.0026 08:00')).toMatchObject(year);
    expect(read('12026-11-2', 'y-M-d')).toMatchObject({ problem: expect.stringContaining('year 12026') });
  });

  it('agrees with the clock of the zone for every hour of a year', () => {
    const reader = new DateReader(['yyyy-MM-dd HH:mm'], 'Europe/Berlin');
    const clock = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Berlin',
      ...({ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const),
    });
    let problems = 0;
    for (let hour = 0; hour < 366 * 24; hour++) {
      const text = new Date(Date.UTC(2026, 0, 1, hour)).toISOString().slice(0, 16).replace('T', ' ');
      const found = reader.read(text);
      if (found !== null && 'iso' in found) expect(clock.format(new Date(found.iso))).toBe(text);
      else problems++;
    }
    expect(problems).toBe(2);
  });

  for (const [format, zone] of [
    ['DD.MM.YYYY', 'UTC'],
    ['HH:mm', 'UTC'],
    ['dd.MM.', null],
    ['dd.MM.yyyy HH:mm', null],
    ['dd.MM.yyyy', 'Berlin'],
    // The minutes would be read as the month, and as seconds.
    ['dd.MM.yyyy HH:MM', 'UTC'],
    ['dd.MM.yyyy HH:ss', 'UTC'],
    ['dd.MM.yyyy mm', 'UTC'],
    ['dd.LL.yyyy HH:mm:MM', 'UTC'],
    ['dd.MM.yyyy dd', 'UTC'],
  ] as const)
    it(`is not read with the format ${format} and the zone ${zone}`, () =>
      expect(() => new DateReader([format], zone)).toThrow());
});

describe('the text of a CSV', () => {
  const files = new StagedFiles();
  afterAll(() => files.remove());
  const TWO = [{ a: '1', b: 'x' }];

  for (const [what, text] of [
    ['a semicolon', 'a;b\n1;x\n'],
    ['a tab', 'a\tb\n1\tx\n'],
    ['a pipe', 'a|b\n1|x\n'],
    ['a semicolon, and commas in quoted names', '"a";"b"\n1;x\n'],
    ['a sep= line', 'sep=|\na|b\n1|x\n'],
    ['a quoted sep= line in capitals, after a blank line', '\r\n"SEP=;"\r\na;b\r\n1;x\r\n'],
    ['a sep= line with a comma', 'sep=,\na,b\n1,x\n'],
    ['a sep= line with a tab', 'sep=\t\na\tb\n1\tx\n'],
    ['a byte order mark and a sep= line', '\ufeffsep=;\na;b\n1;x\n'],
    ['CR line ends', 'a,b\r1,x\r'],
    ['CRLF line ends, and none at the end', 'a,b\r\n1,x'],
    ['mixed line ends', '\ra,b\n\r\n1,x\r\r\n'],
    ['spaces around names', ' a ,\u00a0b\u00a0\n1,x\n'],
    ['spaces around quoted names', ' "a" , " b "\n1,x\n'],
    ['spaces around a type', 'a : string ,b\n1,x\n'],
    ['empty lines, spaces and commas', '\n,\n  \na,b\n,\n1,x\n , \n   \n\u00a0,\n'],
    ['empty cells at the end of lines', 'a,b,,\n1,x\n'.replace('1,x', '1,x,, ')],
  ] as const)
    it(`can have ${what}`, async () => expect(await files.bodies('x.csv', text)).toEqual(TWO));

  it('keeps quoted empty strings: they are values', async () => {
    expect(await files.bodies('x.csv', 'a,b\n"",\n')).toEqual([{ a: '' }]);
  });

  it('needs a clear delimiter', async () => {
    expect(await files.error('x.csv', 'a,b;c\n1,2;3\n')).toBe(
      'line 1: the delimiter is not clear: the header has "," and ";". Set it with --delimiter, or put names that contain one in quotes.',
    );
    expect(await files.bodies('x.csv', 'a,b;c\n1,2;3\n', { delimiter: ';' })).toEqual([
      { 'a,b': '1,2', c: '3' },
    ]);
    expect(await files.bodies('x.csv', 'a;b\n1;x\n', { delimiter: 'semicolon' })).toEqual(TWO);
    expect(await files.error('x.csv', 'sep=:\na:b\n')).toContain('not supported');
    expect(await files.error('x.csv', 'a\n', { delimiter: 'x' })).toContain('is not a delimiter');
  });

  for (const [encoding, bytes] of [
    ['utf-16le', Buffer.from('a;b\nü;€\n', 'utf16le')],
    ['utf-16be', Buffer.from('a;b\nü;€\n', 'utf16le').swap16()],
    ['cp1252', Buffer.from('a;b\n\xfc;\x80\n', 'latin1')],
    ['latin1', Buffer.from('a;b\n\xfc;\x80\n', 'latin1')],
    ['iso-8859-15', Buffer.from('a;b\n\xfc;\xa4\n', 'latin1')],
    ['windows-1252', Buffer.from('\ufeffa;b\nü;€\n', 'utf16le')],
  ] as const)
    it(`can be in ${encoding}; a byte order mark has precedence`, async () =>
      expect(await files.bodies('x.csv', bytes, { encoding })).toEqual([{ a: 'ü', b: '€' }]));

  it('names encodings that do not exist, and bytes that they do not have', async () => {
    expect(await files.error('x.csv', 'a\n1\n', { encoding: 'ansi2' })).toContain(
      '"ansi2" is not an encoding',
    );
    expect(await files.error('x.csv', Buffer.from([0x61, 0x0a, 0x81]), { encoding: 'shift_jis' })).toContain(
      'the text is not shift_jis',
    );
  });

  it('has columns of dates without a published snapshot if a cell has the format', async () => {
    const dates = { dateFormats: ['dd.MM.yyyy'] };
    const text = 'note,day\n1.1.,02.11.2026\nx,2026-11-03\n';
    expect(await files.bodies('x.csv', text, dates)).toEqual([
      { note: '1.1.', day: '2026-11-02' },
      { note: 'x', day: '2026-11-03' },
    ]);
    expect(await files.error('x.csv', `${text}y,30.02.2026\n`, dates)).toMatch(
      /^line 4: the cell of day is neither in the date format nor in ISO 8601 <30\.02\.2026>/,
    );
    expect(await files.bodies('x.csv', 'day:string\n02.11.2026\n2026-11-03\n', dates).catch(String)).toMatch(
      /no cell has the date format/,
    );
    expect(await files.error('x.csv', 'a\nx\n', { timezone: 'UTC' })).toContain(
      'only used with --date-format',
    );
  });

  it('is the same batch unless a setting changes what is sent', async () => {
    const id = async (text: string | Buffer, options = {}) =>
      (await files.check('x.csv', text, options)).batchId;
    const plain = 'a,n:number,d\nx,1.5,2026-11-02\n';
    const same = {
      delimiter: ',',
      encoding: 'windows-1252',
      decimalComma: false,
      dateFormats: ['dd.MM.yyyy'],
    };
    expect(await id(plain, same)).toBe(await id(plain));
    expect(await id('a,n:number\nx,1\n', { decimalComma: true })).toBe(await id('a,n:number\nx,1\n'));
    const comma = 'a;b\nx;1\n';
    expect(await id(comma, { delimiter: ',' })).not.toBe(await id(comma));
    expect(await id(plain, { dropColumns: ['a'] })).not.toBe(await id(plain));
    const umlaut = Buffer.from('a\n\xc3\xbc\n', 'latin1');
    expect(await id(umlaut, { encoding: 'latin1' })).not.toBe(await id(umlaut));
    expect(await id(umlaut, { encoding: 'utf8' })).toBe(await id(umlaut));
    const local = 'd\n02.11.2026 08:00\n';
    const inZone = (timezone: string) => id(local, { dateFormats: ['dd.MM.yyyy HH:mm'], timezone });
    expect(await inZone('Europe/Berlin')).not.toBe(await inZone('America/New_York'));
  });
});

describe('lines without any value', () => {
  const files = new StagedFiles();
  afterAll(() => files.remove());

  for (const [name, text] of [
    ['x.csv', 'a,b\n1,\n,\n" ",\n2,\n'],
    ['x.json', '[{"a":"1"},{},{"a":null},{"a":"2"}]'],
    ['x.ndjson', '{"a":"1"}\n{}\n\n{"a":null,"b":null}\n{"a":"2"}\n'],
    [
      'x.json',
      '{"resource":"r","runId":"x","columns":["_run_id","a"],"rows":[{"a":"1"},{},{"a":null},{"a":"2"}]}',
    ],
  ] as const)
    it(`are counted and are not rows: ${name} ${text.slice(0, 20)}`, async () => {
      expect(await files.bodies(name, text)).toEqual([{ a: '1' }, { a: '2' }]);
      expect(await files.check(name, text)).toMatchObject({ rows: 2, facts: { blankLines: 2 } });
    });
});
