import { INPUT_FORMATS, type InputFormat } from '../core/contract/write-back.js';
import { InputError } from './input-error.js';

const BY_EXTENSION: Readonly<Record<string, InputFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  tab: 'csv',
  txt: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
};

const SPREADSHEETS: Readonly<Record<string, string>> = {
  xlsx: 'an Excel workbook (.xlsx)',
  xlsm: 'an Excel workbook (.xlsm)',
  xlsb: 'an Excel workbook (.xlsb)',
  xls: 'an Excel workbook (.xls)',
  ods: 'an OpenDocument spreadsheet (.ods)',
  numbers: 'a Numbers spreadsheet (.numbers)',
};

/** The format by a file's extension. @throws InputError for a spreadsheet and for an unknown extension */
export function formatOf(name: string): InputFormat {
  const extension = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = BY_EXTENSION[extension];
  if (format !== undefined) return format;
  const spreadsheet = SPREADSHEETS[extension];
  if (spreadsheet !== undefined) throw spreadsheetError(spreadsheet);
  throw new InputError(
    `the format of the input cannot be determined from its name ${JSON.stringify(name)}`,
    null,
    `Set it with --format: ${INPUT_FORMATS.join(', ')}.`,
  );
}

/**
 * Checks that the first bytes of an input can be text. A spreadsheet is recognized by its content, whatever its name is.
 *
 * @param head one character per byte
 * @throws InputError for a spreadsheet, another zip archive, and gzip
 */
export function checkIsText(head: string): void {
  if (head.startsWith('\x1f\x8b')) throw new InputError('the input is compressed with gzip; unpack it first');
  if (head.startsWith('\xd0\xcf\x11\xe0')) throw spreadsheetError(SPREADSHEETS.xls!);
  if (!head.startsWith('PK\x03\x04') && !head.startsWith('PK\x05\x06')) return;
  if (head.includes('opendocument.spreadsheet')) throw spreadsheetError(SPREADSHEETS.ods!);
  if (head.includes('[Content_Types].xml') || head.includes('xl/'))
    throw spreadsheetError(SPREADSHEETS.xlsx!);
  if (head.includes('Index/') || head.includes('.iwa')) throw spreadsheetError(SPREADSHEETS.numbers!);
  throw spreadsheetError('a zip archive or a spreadsheet');
}

function spreadsheetError(what: string): InputError {
  return new InputError(
    `the input is ${what}, not text`,
    null,
    'Save the sheet as CSV UTF-8. Excel: File > Save As > CSV UTF-8 (Comma delimited). LibreOffice: File > Save As > Text CSV, ' +
      'character set UTF-8. Google Sheets: File > Download > Comma Separated Values. Numbers: File > Export To > CSV.',
  );
}
