import { strToU8, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WriteBackSource } from '../../../src/write-back/check-write-back.js';
import { InputProblems } from '../../../src/write-back/input-problems.js';
import {
  clockText,
  numberFormat,
  serialTime,
  storedNumber,
} from '../../../src/write-back/sheet/serial-time.js';
import { StagedFiles } from './staged.js';
import { number, row, text, workbook } from './workbook.js';

describe('the time of a number', () => {
  it.each<[number, 1900 | 1904, string | null]>([
    [1, 1900, '1900-01-01T00:00:00.000Z'],
    [59, 1900, '1900-02-28T00:00:00.000Z'],
    [60, 1900, null],
    [60.5, 1900, null],
    [61, 1900, '1900-03-01T00:00:00.000Z'],
    [46328.3541666667, 1900, '2026-11-02T08:30:00.000Z'],
    [46328.33333333334, 1900, '2026-11-02T08:00:00.000Z'],
    [44866, 1904, '2026-11-02T00:00:00.000Z'],
    [0, 1904, '1904-01-01T00:00:00.000Z'],
    [2958465.999, 1900, '9999-12-31T23:58:33.600Z'],
    [2958466, 1900, null],
    [0, 1900, null],
    [-1, 1904, null],
    [Number.NaN, 1900, null],
  ])('%s is in the system of %s: %s', (serial, system, expected) => {
    const time = serialTime(serial, system);
    expect(time === null ? null : new Date(time).toISOString()).toBe(expected);
  });

  it.each<[number, string | null]>([
    [0.3125, '07:30'],
    [1.25, '30:00'],
    [0.305555555555556, '07:20'],
    [0.3541724537037037, '08:30:00.500'],
    [0, '00:00'],
    [-0.5, null],
  ])('%s days are %s hours', (days, text) => expect(clockText(days)).toBe(text));
});

describe('the format of a number', () => {
  it.each<[string, ReturnType<typeof numberFormat>]>([
    ['General', 'number'],
    ['0.00', 'number'],
    ['#,##0.00\\ "€"', 'number'],
    ['0%', 'number'],
    ['0.00E+00', 'number'],
    ['[Red]0;[Blue]-0', 'number'],
    ['"day "0', 'number'],
    ['0\\d', 'number'],
    ['@', 'number'],
    ['dd.mm.yyyy', 'date'],
    ['[$-407]d. mmmm yyyy;@', 'date'],
    ['mmm yy', 'date'],
    ['mmmm', 'date'],
    ['yyyy-mm-dd hh:mm:ss', 'date-time'],
    ['yyyy-mm-dd"T"hh:mm:ss.000', 'date-time'],
    ['m/d/yy h:mm AM/PM', 'date-time'],
    ['h:mm', 'time'],
    ['mm:ss.0', 'time'],
    ['h:mm AM/PM', 'time'],
    ['[h]:mm', 'elapsed'],
    ['[mm]:ss', 'elapsed'],
  ])('%s shows a %s', (code, format) => expect(numberFormat(164, code)).toBe(format));

  it.each<[format: ReturnType<typeof numberFormat>, ids: string]>([
    ['number', '0-13 23-26 37-44 48-49 59-163'],
    ['date', '14-17 27-31 36 50-54 57-58'],
    ['time', '18-21 32-35 45 47 55-56'],
    ['date-time', '22'],
    ['elapsed', '46'],
  ])('without a description shows a %s: no. %s', (format, ids) => {
    for (const range of ids.split(' ')) {
      const [first, last = first] = range.split('-').map(Number) as [number, number?];
      for (let id = first; id <= last; id++) expect(numberFormat(id, undefined), `no. ${id}`).toBe(format);
    }
  });
});

it.each<[string, string | null]>([
  ['3600', '3600'],
  ['1.5E+3', '1500'],
  ['3600.0', '3600'],
  ['-0', '0'],
  ['0.1', '0.1'],
  ['1.1000000000000001', '1.1'],
  ['0.15504999999999999', '0.15505'],
  ['9.9999999999999995E-8', '1e-7'],
  ['0.30000000000000004', null],
  ['999999999999999', '999999999999999'],
  ['1234567890123450', null],
  ['1.2345678901234501E+17', null],
  ['0.123456789012345678', null],
  ['1E+400', null],
  ['', null],
  ['x', null],
])('the stored number %s is %s', (literal, number) => expect(storedNumber(literal)).toBe(number));

let files: StagedFiles;
beforeAll(() => {
  files = new StagedFiles();
});
afterAll(() => files.remove());

describe('a sheet', () => {
  const header = row(1, text('description'), text('durationSeconds:integer'), text('startedAt'));

  it('has texts as they are, shared, rich, escaped and without their pronunciation', async () => {
    const strings =
      '<si><r><t>Kick</t></r><r><rPr><b/></rPr><t xml:space="preserve">-off </t></r><rPh sb="0" eb="1"><t>kana</t></rPh></si><si><t>a_x000D_&#10;b &amp; "c", d</t></si>';
    const cells = '<c r="A3" t="s"><v>0</v></c>';
    const sheet = `${header}${row(3, cells)}<row><c t="s"><v>1</v></c>${number('60')}</row>`;
    const bytes = workbook({ one: sheet }, strings);
    expect(await files.bodies('a.xlsx', bytes)).toEqual([
      { description: 'Kick-off ' },
      { description: 'a\r\nb & "c", d', durationSeconds: 60 },
    ]);
  });

  it('gives the lines of errors as rows of the sheet, whatever breaks its cells have', async () => {
    const sheet = `${header}${row(2, text('a\n\nb'))}${row(7, text('c'), text('much'))}`;
    expect(await files.error('a.xlsx', workbook({ one: sheet }))).toMatch(
      /^line 7: the cell of durationSeconds is not an integer.*<much>/,
    );
  });

  it.each([
    [
      'a time without a zone',
      number('46328.25', 2),
      /^line 4: the cell of startedAt is a time without a zone <2026-11-02T06:00:00.000>\. Set the time zone with --timezone/,
    ],
    [
      'an error',
      '<c t="e"><v>#N/A</v></c>',
      /^line 4: the cell of startedAt has the error #N\/A\. Correct its formula/,
    ],
    ['no result', '<c><f>1+2</f></c>', /^line 4: the cell of startedAt has a formula without a result/],
    ['an empty result', '<c><f>1+2</f><v/></c>', /a formula without a result/],
    [
      'too many digits',
      number('12345678901234567'),
      /^line 4: the cell of startedAt is a number of more than 15 digits.*<12345678901234567>\. Format the column as text/,
    ],
    ['the day that no calendar has', number('60', 1), /has the format of a date and is none <60>/],
    ['a negative duration', number('-1', 3), /is a negative duration/],
  ])('has a row with %s', async (_, cell, problem) => {
    const sheet = `${header}${row(4, text('a'), number('1'), cell)}`;
    expect(await files.error('a.xlsx', workbook({ one: sheet }))).toMatch(problem);
    // A column that is left out has no errors.
    const dropped = await files.bodies('a.xlsx', workbook({ one: sheet }), { dropColumns: ['startedAt'] });
    expect(dropped).toEqual([{ description: 'a', durationSeconds: 1 }]);
  });

  it('has times in the zone that is given, and none that clocks skip or repeat', async () => {
    const sheet = (serial: string, style = 2) =>
      workbook({ one: `${header}${row(2, text('a'), number('1'), number(serial, style))}` });
    const timezone = 'Europe/Berlin';
    const body = async (bytes: Buffer) => (await files.bodies('a.xlsx', bytes, { timezone }))[0];
    expect(await body(sheet('46328.25'))).toMatchObject({ startedAt: '2026-11-02T05:00:00Z' });
    expect(await body(sheet('46328.25', 1))).toMatchObject({ startedAt: '2026-11-02T05:00:00Z' });
    expect(await body(sheet('46328', 1))).toMatchObject({ startedAt: '2026-11-02' });
    // 2026-03-29 02:30 and 2026-10-25 02:30.
    expect(await files.error('a.xlsx', sheet('46110.1041666667'), { timezone })).toMatch(/does not exist/);
    expect(await files.error('a.xlsx', sheet('46320.1041666667'), { timezone })).toMatch(/occurs twice/);
  });

  it('has an error for a merged cell, and none for a merged title above the header', async () => {
    const rows = `${row(1, text('description'), text('durationSeconds:integer'))}${row(2, text('a'), number('1'))}<row r="3"><c r="B3"><v>2</v></c></row>`;
    const merged = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>';
    expect(await files.error('a.xlsx', workbook({ one: rows }, '', merged))).toMatch(
      /^line 3: the cell of description is merged with another cell/,
    );
  });

  it('is the only one with cells, or the one that is named', async () => {
    const sheet = (name: string) => `${header}${row(2, text(name))}`;
    const two = workbook({ Januar: sheet('one'), Summe: sheet('two'), leer: '' });
    expect(await files.bodies('a.xlsx', workbook({ leer: '', Januar: sheet('one') }))).toHaveLength(1);
    expect(await files.error('a.xlsx', two)).toMatch(/several sheets.*Choose one with --sheet/);
    expect(await files.bodies('a.xlsx', two, { sheet: 'Summe' })).toEqual([{ description: 'two' }]);
    expect(await files.bodies('a.xlsx', two, { sheet: '1' })).toEqual([{ description: 'one' }]);
    expect(await files.error('a.xlsx', two, { sheet: 'Mai' })).toMatch(/no sheet "Mai".*"Januar", "Summe"/);
  });

  it('is the same batch whenever its rows are the same, also as a CSV', async () => {
    const sheet = `${header}${row(2, text('a'), number('1'))}`;
    const first = await files.check('a.xlsx', workbook({ one: sheet }));
    const second = await files.check('b.xlsx', workbook({ renamed: sheet, leer: '' }));
    expect(second.batchId).toBe(first.batchId);
    expect(second.format).toBe('csv');
  });

  it('has all of its errors listed, with the rows that a time zone corrects', async () => {
    const bad = '<c t="e"><v>#N/A</v></c>';
    const rows = [
      row(3, text('a'), bad, number('46328.25', 2)),
      row(4, text('a'), text('x'), number('46328.5', 2)),
      row(9, bad, number('1'), number('46328.5', 2)),
    ];
    const bytes = workbook({ one: header + rows.join('') });
    const kindsOf = async (timezone?: string) => {
      const problems = new InputProblems();
      await files.check('a.xlsx', bytes, { timezone }, problems);
      return problems.kinds.map(({ first, count }) => [first.line, count, first.kind.split(';')[0]]);
    };
    const others = [
      [3, 1, 'the cell of durationSeconds:integer has the error #N/A'],
      [4, 1, 'the cell of durationSeconds is not an integer'],
      [9, 1, 'the cell of description has the error #N/A'],
    ];
    expect(await kindsOf('UTC')).toEqual(others);
    const zone = [3, 3, 'the cell of startedAt is a time without a zone'];
    expect((await kindsOf()).sort()).toEqual([...others, zone].sort());
  });

  it('has decimal commas in texts, and stored numbers as they are, also in columns of text', async () => {
    const head = row(1, text('hours:number'), text('note'), text('durationSeconds'));
    const cells = [number('1.5'), number('12.5'), number('1.5')];
    const rows = `${head}${row(2, ...cells)}${row(3, text('1.234,5'), text('1,5'), text('0,5'))}${row(4, number('1.234'))}`;
    const options = { decimalComma: true, units: { durationSeconds: 'h' } };
    expect(await files.bodies('a.xlsx', workbook({ one: rows }), options)).toEqual([
      { hours: 1.5, note: '12.5', durationSeconds: 5400 },
      { hours: 1234.5, note: '1,5', durationSeconds: 1800 },
      { hours: 1.234 },
    ]);
    expect(await files.error('a.xlsx', workbook({ one: head + row(2, text('1.234')) }), options)).toMatch(
      /a dot that may group digits/,
    );
  });

  it('is the same batch with decimal commas if no text has one', async () => {
    const bytes = workbook({ one: `${header}${row(2, text('a'), number('1'))}${row(3, text('b'))}` });
    const sheet = workbook({ one: `${row(1, text('hours:number'))}${row(2, number('1.5'))}` });
    for (const one of [bytes, sheet]) {
      const { batchId } = await files.check('a.xlsx', one);
      expect((await files.check('a.xlsx', one, { decimalComma: true })).batchId).toBe(batchId);
    }
  });

  it('has errors in a key column that is not sent, and in columns that only look left out', async () => {
    const sheet = `${row(1, text('id'), text('days'))}${row(2, number('12345678901234567'))}${row(3, number('12345678901234568'))}`;
    const options = { keyColumn: 'id', dropColumns: ['id'] };
    expect(await files.error('a.xlsx', workbook({ one: sheet }), options)).toMatch(
      /^line 2: the cell of id is a number of more than 15 digits/,
    );
    const bad = '<c t="e"><v>#N/A</v></c>';
    const days = `${row(1, text('day'), text('days'))}${row(2, text('x'), bad)}`;
    expect(await files.error('a.xlsx', workbook({ one: days }), { dropColumns: ['day'] })).toMatch(
      /^line 2: the cell of days has the error #N\/A/,
    );
    const colon = `${row(1, text('a:b'), text('a'))}${row(2, bad)}`;
    const named = { dropColumns: ['a'], map: { 'a:b': 'x' } };
    expect(await files.error('a.xlsx', workbook({ one: colon }), named)).toMatch(/has the error #N\/A/);
    const typed = `${row(1, text('a'), text('day : string'))}${row(2, text('x'), bad)}`;
    expect(await files.bodies('a.xlsx', workbook({ one: typed }), { dropColumns: ['day'] })).toEqual([
      { a: 'x' },
    ]);
  });
});

describe('a file that is no workbook', () => {
  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['a text', Buffer.from('description\na\n')],
    ['an archive of something else', Buffer.from(zipSync({ 'a.txt': strToU8('a') }))],
    ['a workbook that was cut', workbook({ one: row(1, text('a')) }).subarray(0, 700)],
    ['XML that is not complete', workbook({ one: '<row r="1"><c><v>1</v></c' })],
  ])('is named: %s', async (_, bytes) => {
    expect(await files.error('a.xlsx', bytes)).toMatch(/^the workbook is damaged, or is none\. Open it/);
  });

  it.each<[Partial<WriteBackSource>, RegExp]>([
    [{ delimiter: ';' }, /--delimiter is an option for csv, and the format is xlsx/],
    [{ encoding: 'windows-1252' }, /--encoding is an option for csv and json and ndjson/],
  ])('has no option of a text: %j', async (options, problem) => {
    expect(await files.error('a.xlsx', workbook({ one: '' }), options)).toMatch(problem);
  });
});
