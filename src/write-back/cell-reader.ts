import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import type { InputReading } from '../core/contract/write-back.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import type { InputColumn } from './columns.js';
import type { DateReader } from './dates.js';
import { fromDecimalComma } from './decimal-comma.js';
import { InputError } from './input-error.js';
import { pathOf } from './nested-fields.js';
import { FORM_NAMES, type IsoForm, isIso, isIsoForm } from './published-form.js';
import type { InputFacts } from './reading.js';
import { mistyped, typedCell } from './typed-cell.js';

/** A cell with its value in requests. */
interface ReadCell {
  /** The text for comparing rows. Texts that a setting makes equal are equal. */
  readonly content: ByteString;
  readonly json: ByteString;
}

/** Reads the cells of one column. */
export interface CellReader {
  readonly column: InputColumn;
  readonly name: ByteString;
  /** The field's name after those of the objects around it. */
  readonly path: readonly ByteString[];
  /** @throws InputError for a cell that does not match its column */
  read(cell: ByteString, line: number): ReadCell;
}

export interface CellReaderOptions {
  readonly reading: InputReading;
  /** Reads the dates of `reading.dates`; `null` without date formats. */
  readonly dates: DateReader | null;
  /** Whether the file is a CSV export of the lake, whose cells are as stored. */
  readonly isEscaped: boolean;
  readonly facts: InputFacts;
  /** Whether cells are compared with the form of the published values. */
  readonly compares: boolean;
}

type Conversion = (cell: ByteString, line: number) => ByteString;

/** Compiles the reader of a column once, because a file has millions of cells. */
export function cellReader(column: InputColumn, options: CellReaderOptions): CellReader {
  const conversions = conversionsOf(column, options);
  const read = (cell: ByteString, line: number): ReadCell => {
    let content = cell;
    for (const convert of conversions) content = convert(content, line);
    return { content, json: typedCell(content, column, line, cell) };
  };
  return { column, name: column.name, path: pathOf(column.name, options.reading.flattened), read };
}

function conversionsOf(column: InputColumn, options: CellReaderOptions): Conversion[] {
  const { reading, isEscaped, dates } = options;
  const name = fromByteString(column.name);
  const conversions: Conversion[] = [];
  const decode = isEscaped ? cellDecoder(reading.escaped) : null;
  if (decode !== null) conversions.push(decode);
  const isNumber = column.type === 'integer' || column.type === 'number';
  if (reading.decimalComma && isNumber) conversions.push(decimalComma(column, options));
  if (dates !== null) {
    if (column.from !== 'header' && reading.dates?.columns.includes(name))
      conversions.push(isoDates(name, dates, options));
    else if (column.from === 'nothing') conversions.push(noteDates(name, dates, options));
  }
  if (options.compares && isIsoForm(column.form) && column.type === 'string')
    conversions.push(likePublished(column.name, column.form, options));
  return conversions;
}

function decimalComma(column: InputColumn, { facts }: CellReaderOptions): Conversion {
  return (cell, line) => {
    const text = fromByteString(cell);
    const number = fromDecimalComma(text);
    if (number === null)
      throw isUnclear(text)
        ? unclear(text, column, line)
        : mistyped(cell, column, line, 'a number with a decimal comma');
    if (number === text) return cell;
    facts.decimalCommas++;
    return number as ByteString;
  };
}

/** Whether the dots of a number may group digits or be decimal points. */
function isUnclear(text: string): boolean {
  return /^-?\d+(?:\.\d+)+$/.test(text);
}

function unclear(value: string, { name }: InputColumn, line: number): InputError {
  return new InputError(
    `the cell of ${fromByteString(name)} has a dot that may group digits or be a decimal point`,
    { line },
    'Remove the dot if it groups digits; otherwise write a comma.',
    { value },
  );
}

function isoDates(name: string, dates: DateReader, { facts }: CellReaderOptions): Conversion {
  return (cell, line) => {
    if (isIso(cell, 'date or time')) {
      facts.isoDates++;
      return cell;
    }
    const text = fromByteString(cell);
    const found = dates.read(text);
    if (found !== null && 'iso' in found) {
      facts.dates++;
      return toByteString(found.iso);
    }
    const problem = found?.problem ?? 'is neither in the date format nor in ISO 8601';
    const remedy =
      found?.remedy ??
      `Correct the cell or --date-format, or name the column \`${name}:string\` to send it as text.`;
    throw new InputError(`the cell of ${name} ${problem}`, { line }, remedy, { value: text });
  };
}

/** A column of no known type is a column of dates if one of its cells is a date. */
function noteDates(name: string, dates: DateReader, { facts }: CellReaderOptions): Conversion {
  return (cell) => {
    if (facts.dateLike.has(name)) return cell;
    if (isIso(cell, 'date or time')) facts.isoDates++;
    else if (dates.read(fromByteString(cell)) !== null) facts.dateLike.add(name);
    return cell;
  };
}

function likePublished(name: ByteString, wanted: IsoForm, { facts }: CellReaderOptions): Conversion {
  const column = fromByteString(name);
  return (cell, line) => {
    if (!isIso(cell, wanted) && !facts.unlike.has(column))
      facts.unlike.set(column, { line, value: fromByteString(cell), wanted: FORM_NAMES[wanted] });
    return cell;
  };
}
