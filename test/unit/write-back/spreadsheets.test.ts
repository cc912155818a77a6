import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WriteBackSource } from '../../../src/write-back/check-write-back.js';
import { ENTRY_COLUMNS, entryRows, StagedFiles } from './staged.js';

type Options = Partial<WriteBackSource>;

interface SpreadsheetFile {
  /** Program and command that make such a file. */
  readonly made: string;
  readonly name: string;
  readonly bytes: Buffer;
  readonly options?: Options;
  /** The bodies of the requests, or the message. */
  readonly expected: readonly object[] | RegExp;
  readonly blankLines?: number;
}

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const withMark = (text: string): Buffer => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8(text)]);
const utf16le = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const utf16be = (text: string): Buffer => utf16le(text).swap16();

const GERMAN: Options = {
  encoding: 'windows-1252',
  decimalComma: true,
  dateFormats: ['dd.MM.yyyy HH:mm'],
  timezone: 'Europe/Berlin',
};
const SAVE_AS_CSV = /not text\. Save it as \.xlsx, or the sheet as CSV UTF-8\. Excel: File > Save As/;

/** The first bytes of an archive, with the names of its first files. */
const zip = (...names: string[]): Buffer =>
  Buffer.concat(
    names.flatMap((name) => [latin1('PK\x03\x04\x14\0\x06\0\x08\0'), Buffer.alloc(20), utf8(name)]),
  );

const FILES: readonly SpreadsheetFile[] = [
  {
    made: 'Excel for Windows (en-US), CSV (Comma delimited)',
    name: 'november.csv',
    bytes: latin1(
      'description,durationSeconds,billable\r\nKick-off,3600,TRUE\r\n"Minutes, questions",1800,FALSE\r\n',
    ),
    expected: [
      { description: 'Kick-off', durationSeconds: 3600, billable: true },
      { description: 'Minutes, questions', durationSeconds: 1800, billable: false },
    ],
  },
  {
    made: 'Excel for Windows (en-US), CSV UTF-8',
    name: 'november.csv',
    bytes: withMark('description,durationSeconds\r\n"Größe ""XL""",3600\r\n'),
    expected: [{ description: 'Größe "XL"', durationSeconds: 3600 }],
  },
  {
    made: 'Excel for Windows (de-DE), CSV (Trennzeichen-getrennt)',
    name: 'november.csv',
    bytes: latin1(
      'description;durationSeconds;rate;startedAt\r\nPr\xfcfung \x80;3600;1.234,50;02.11.2026 08:00\r\n',
    ),
    options: GERMAN,
    expected: [
      { description: 'Prüfung €', durationSeconds: 3600, rate: 1234.5, startedAt: '2026-11-02T07:00:00Z' },
    ],
  },
  {
    made: 'the same file without settings',
    name: 'november.csv',
    bytes: latin1(
      'description;durationSeconds;rate;startedAt\r\nPr\xfcfung;3600;1.234,50;02.11.2026 08:00\r\n',
    ),
    expected: /^line 2: the text is not UTF-8\. .*set its encoding with --encoding, such as windows-1252/,
  },
  {
    made: 'Excel for Windows (de-DE), CSV UTF-8, without settings',
    name: 'november.csv',
    bytes: withMark('description;rate;startedAt\r\nPrüfung;1,5;02.11.2026 08:00\r\n'),
    expected: /^line 2: the cell of rate is not a JSON number.* <1,5>\. .*set --decimal-comma/,
  },
  {
    made: 'Excel for Windows (de-DE), CSV UTF-8, with a local date',
    name: 'november.csv',
    bytes: withMark('description;startedAt\r\nPrüfung;02.11.2026 08:00\r\n'),
    expected:
      /^line 2: the cell of startedAt is not a time in ISO 8601 .*<02\.11\.2026 08:00>\. .*--date-format/,
  },
  {
    made: 'Excel for Windows, Unicode Text (*.txt)',
    name: 'november.txt',
    bytes: utf16le('description\tdurationSeconds\r\nключ\t3600\r\n"tab\there"\t60\r\n'),
    expected: [
      { description: 'ключ', durationSeconds: 3600 },
      { description: 'tab\there', durationSeconds: 60 },
    ],
  },
  {
    made: 'Excel for Mac, CSV (Macintosh)',
    name: 'november.csv',
    bytes: latin1('description,durationSeconds\rPr\x9ffung,3600\rKick-off,60\r'),
    options: { encoding: 'macintosh' },
    expected: [
      { description: 'Prüfung', durationSeconds: 3600 },
      { description: 'Kick-off', durationSeconds: 60 },
    ],
  },
  {
    made: 'Excel, CSV UTF-8, of a sheet with emptied rows and columns',
    name: 'november.csv',
    bytes: withMark(
      'description,durationSeconds,,\r\nKick-off,3600,,\r\n,,,\r\n , ,\u00a0,\r\nReview,60,,\r\n,,,\r\n',
    ),
    expected: [
      { description: 'Kick-off', durationSeconds: 3600 },
      { description: 'Review', durationSeconds: 60 },
    ],
    blankLines: 3,
  },
  {
    made: 'a web application for Excel, with a line sep=',
    name: 'november.csv',
    bytes: withMark('sep=;\r\ndescription ; durationSeconds\r\na, b;3600\r\n'),
    expected: [{ description: 'a, b', durationSeconds: 3600 }],
  },
  {
    made: 'Excel for Windows (en-US) with its own dates',
    name: 'november.csv',
    bytes: latin1('description,startedAt,day\r\nKick-off,11/2/2026 8:00,11/2/2026\r\n'),
    options: { dateFormats: ['M/d/yyyy H:mm', 'M/d/yyyy'], timezone: 'America/New_York' },
    expected: [{ description: 'Kick-off', startedAt: '2026-11-02T13:00:00Z', day: '2026-11-02' }],
  },
  {
    made: 'Excel, with a long number that it has shortened',
    name: 'november.csv',
    bytes: withMark('description,durationSeconds\r\nKick-off,1.23457E+15\r\n'),
    expected: /^line 2: the cell of durationSeconds is not an integer.* <1\.23457E\+15>/,
  },
  {
    made: 'Excel for Windows (de-DE), with its words for true and false',
    name: 'november.csv',
    bytes: withMark('description;billable\r\nKick-off;WAHR\r\n'),
    expected: /^line 2: the cell of billable is not true or false.* <WAHR>/,
  },
  {
    made: 'Excel, workbook',
    name: 'november.xlsx',
    bytes: zip('[Content_Types].xml', 'xl/workbook.xml'),
    expected: /^the workbook is damaged, or is none/,
  },
  {
    made: 'Excel, workbook under another name',
    name: 'november.csv',
    bytes: zip('[Content_Types].xml', 'xl/workbook.xml'),
    expected: /an Excel workbook \(\.xlsx\), not text\. Set --format xlsx\./,
  },
  {
    made: 'Excel 97, workbook under another name',
    name: 'november.csv',
    bytes: latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0'),
    expected: new RegExp(
      `an Excel workbook of the old format \\(\\.xls\\), or one with a password, ${SAVE_AS_CSV.source}`,
    ),
  },
  {
    made: 'LibreOffice, Text CSV, UTF-8, all text cells quoted',
    name: 'november.csv',
    bytes: utf8(
      '"description","durationSeconds","startedAt"\n"two\nlines",3600,"2026-11-02T08:00:00Z"\n"x",60,\n',
    ),
    expected: [
      { description: 'two\nlines', durationSeconds: 3600, startedAt: '2026-11-02T08:00:00Z' },
      { description: 'x', durationSeconds: 60 },
    ],
  },
  {
    made: 'LibreOffice (de), Text CSV, with its own times',
    name: 'november.csv',
    bytes: utf8('description;startedAt\nKick-off;2026-11-02 08:00:00\n'),
    options: { dateFormats: ['yyyy-MM-dd HH:mm:ss'], timezone: 'UTC' },
    expected: [{ description: 'Kick-off', startedAt: '2026-11-02T08:00:00Z' }],
  },
  {
    made: 'LibreOffice, Text CSV, Unicode (UTF-16), big-endian',
    name: 'november.csv',
    bytes: utf16be('"description"\t"durationSeconds"\n"Größe"\t3600\n'),
    expected: [{ description: 'Größe', durationSeconds: 3600 }],
  },
  {
    made: 'LibreOffice, spreadsheet under another name',
    name: 'november.csv',
    bytes: zip('mimetypeapplication/vnd.oasis.opendocument.spreadsheet', 'content.xml'),
    expected: new RegExp(`an OpenDocument spreadsheet \\(\\.ods\\), ${SAVE_AS_CSV.source}`),
  },
  {
    made: 'Google Sheets, Comma Separated Values (no line end at the end)',
    name: 'november - Sheet1.csv',
    bytes: utf8('description,durationSeconds,billable\r\n"a\nb",3600,TRUE\r\n,,\r\nlast,60,FALSE'),
    expected: [
      { description: 'a\nb', durationSeconds: 3600, billable: true },
      { description: 'last', durationSeconds: 60, billable: false },
    ],
    blankLines: 1,
  },
  {
    made: 'Google Sheets, Tab Separated Values',
    name: 'november - Sheet1.tsv',
    bytes: utf8('description\tdurationSeconds\r\na, b; c\t3600'),
    expected: [{ description: 'a, b; c', durationSeconds: 3600 }],
  },
  {
    made: 'Google Sheets, Tab Separated Values, with a quotation mark, which it does not quote',
    name: 'november - Sheet1.tsv',
    bytes: utf8('description\tdurationSeconds\r\n5" pipe\t3600'),
    expected: /^line 2, column 2: a quotation mark inside an unquoted cell\. .*the delimiter \(tab\)/,
  },
  {
    made: 'Google Sheets, with a duration as it shows it',
    name: 'november - Sheet1.csv',
    bytes: utf8('description,durationSeconds\r\nx,1:00:00'),
    expected: /^line 2: the cell of durationSeconds is not an integer.* <1:00:00>/,
  },
  {
    made: 'Numbers (de), CSV, with empty columns at the end',
    name: 'november.csv',
    bytes: utf8('description;durationSeconds;rate;\r\nKick-off;3600;"1 234,5";\r\n;;;\r\n'),
    options: { decimalComma: true },
    expected: [{ description: 'Kick-off', durationSeconds: 3600, rate: 1234.5 }],
    blankLines: 1,
  },
  {
    made: 'Numbers (de), CSV, with a dot that may group digits',
    name: 'november.csv',
    bytes: utf8('description;durationSeconds\r\nKick-off;1.800\r\n'),
    options: { decimalComma: true },
    expected: /^line 2: the cell of durationSeconds has a dot that may group digits .* <1\.800>/,
  },
  {
    made: 'Numbers (de), CSV, with a fraction in a column of integers',
    name: 'november.csv',
    bytes: utf8('description;durationSeconds\r\nKick-off;1800,5\r\n'),
    options: { decimalComma: true },
    expected: /^line 2: the cell of durationSeconds is not an integer.* <1800,5>/,
  },
  {
    made: 'Numbers, spreadsheet',
    name: 'november.numbers',
    bytes: zip('Index/Document.iwa'),
    expected: new RegExp(`a Numbers spreadsheet \\(\\.numbers\\), ${SAVE_AS_CSV.source}`),
  },
];

describe('a file that a spreadsheet program has made', () => {
  const files = new StagedFiles();
  beforeAll(() => files.publish('time-entries', ENTRY_COLUMNS, entryRows(20)));
  afterAll(() => files.remove());

  for (const { made, name, bytes, options, expected, blankLines = 0 } of FILES) {
    it(`${expected instanceof RegExp ? 'gets a message' : 'is read'}: ${made}`, async () => {
      if (expected instanceof RegExp) {
        expect(await files.error(name, bytes, options)).toMatch(expected);
        return;
      }
      expect(await files.bodies(name, bytes, options)).toEqual(expected);
      expect((await files.check(name, bytes, options)).facts.blankLines).toBe(blankLines);
    });
  }
});
