import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import type { InputReading, InputUnit, InputWords } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { JsonScanner } from '../json/scanner.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import { isStored, withoutStoredMark } from './csv-parser.js';
import type { DateReader } from './dates.js';
import { pathOf } from './fields.js';
import { type CellType, type InputColumn, type IsoForm, isIso, isIsoForm } from './input-columns.js';
import { type InputFacts, ownValue } from './reading.js';
import { inUnit, isClock, unitOfName } from './units.js';

export interface CellReader {
  readonly column: InputColumn;
  /** The field's name after those of the objects around it. */
  readonly path: readonly ByteString[];
  /** The value in requests, as JSON. @throws InputError for a cell that does not match its column */
  read(cell: ByteString, line: number): ByteString;
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
  const { reading } = options;
  const read = reader(column, options);
  const path = pathOf(column.name, reading.flattened);
  if (reading.lines !== 'records') return { column, path, read };
  const readStored = reader(column, { ...options, reading: { ...reading, decimalComma: false } });
  return {
    ...{ column, path },
    read: (cell, line) => (isStored(cell) ? readStored(withoutStoredMark(cell), line) : read(cell, line)),
  };
}

function reader(column: InputColumn, options: CellReaderOptions): CellReader['read'] {
  const conversions = conversionsOf(column, options);
  const [wanted, toJson] = CELLS[column.type];
  return (cell, line) => {
    let text = cell;
    for (const convert of conversions) text = convert(text, line);
    const json = toJson(text);
    if (json === null) throw mistyped(text, column, line, wanted, cell);
    return json;
  };
}

function conversionsOf(column: InputColumn, options: CellReaderOptions): Conversion[] {
  const { reading, isEscaped, dates } = options;
  const name = fromByteString(column.name);
  const conversions: Conversion[] = [];
  const decode = isEscaped ? cellDecoder(reading.escaped) : null;
  if (decode !== null) conversions.push(decode);
  const isNumber = column.type === 'integer' || column.type === 'number';
  const unit = ownValue(reading.units, name);
  if (unit !== undefined) conversions.push(toUnit(column, unit, options));
  else if (reading.decimalComma && isNumber) conversions.push(decimalComma(column, options));
  if (reading.words !== undefined && column.type === 'boolean')
    conversions.push(fromWords(reading.words, options));
  if (dates !== null) {
    if (column.from !== 'header' && reading.dates?.columns.includes(name))
      conversions.push(isoDates(column, dates, options));
    else if (column.from === 'nothing') conversions.push(noteDates(name, dates, options));
  }
  if (options.compares && isIsoForm(column.form) && column.type === 'string')
    conversions.push(likePublished(column.name, column.form, options));
  return conversions;
}

function decimalComma(column: InputColumn, { facts }: CellReaderOptions): Conversion {
  return (cell, line) => {
    const text = fromByteString(cell);
    const number = clearNumber(text, column, line);
    if (number === null) throw mistyped(cell, column, line, 'a number with a decimal comma', cell);
    if (number === text) return cell;
    facts.decimalCommas++;
    return number as ByteString;
  };
}

/** As `fromDecimalComma`. @throws InputError for a number whose dot is not clear */
function clearNumber(text: string, { name }: InputColumn, line: number): string | null {
  const number = fromDecimalComma(text);
  if (number !== null || !/^-?\d+(?:\.\d+)+$/.test(text)) return number;
  throw new InputError(
    `the cell of ${fromByteString(name)} has a dot that may group digits or be a decimal point`,
    { line, remedy: 'Remove the dot if it groups digits; otherwise write a comma.', value: text },
  );
}

/** A cell that is neither a number nor a duration is an error of its type. */
function toUnit(column: InputColumn, unit: InputUnit, { reading, facts }: CellReaderOptions): Conversion {
  return (cell, line) => {
    const text = fromByteString(cell).trim();
    const plain = reading.decimalComma && !isClock(text) ? clearNumber(text, column, line) : text;
    const number = plain === null ? null : inUnit(plain, unit);
    if (number === null)
      throw mistyped(cell, column, line, `a number in ${unit.from}, or a duration such as 7:30`, cell);
    // A unit also makes an unknown column one of numbers.
    if (number !== cell || column.from === 'unit') facts.inUnits.add(fromByteString(column.name));
    return number as ByteString;
  };
}

function fromWords(words: InputWords, { facts }: CellReaderOptions): Conversion {
  const values = new Map(
    (['true', 'false'] as const).flatMap((value) =>
      words[value].map((word) => [word.toLowerCase(), value] as const),
    ),
  );
  // They always count, so they are no other words.
  for (const word of ['true', 'false']) values.delete(word);
  return (cell) => {
    const word = fromByteString(cell).trim().toLowerCase();
    const value = values.get(word);
    if (value === undefined) return cell;
    facts.words[value].add(word);
    return value as ByteString;
  };
}

function isoDates(column: InputColumn, dates: DateReader, { facts }: CellReaderOptions): Conversion {
  const name = fromByteString(column.name);
  const form = isIsoForm(column.form) ? column.form : null;
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
    const about = found === null ? { kind: 'time' as const, column: name, form } : undefined;
    throw new InputError(`the cell of ${name} ${problem}`, {
      line,
      remedy,
      value: text,
      ...(about && { about }),
    });
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
    if (!isIso(cell, wanted)) facts.addUnlike(column, { line, value: fromByteString(cell), form: wanted });
    return cell;
  };
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * How the cells of each type become JSON, and their name for messages. A cell that does not match the type gives `null`. Numbers
 * keep their original literal and are never converted to a double.
 */
const CELLS: Readonly<Record<CellType, readonly [wanted: string, (cell: ByteString) => ByteString | null]>> =
  {
    string: ['a text', (cell) => JSON.stringify(cell) as ByteString],
    integer: ['an integer', (cell) => (INTEGER.test(cell) ? cell : null)],
    number: ['a JSON number', (cell) => (NUMBER.test(cell) ? cell : null)],
    // Spreadsheets write TRUE and FALSE.
    boolean: [
      'true or false',
      (cell) => (/^(?:true|false)$/i.test(cell) ? (cell.toLowerCase() as ByteString) : null),
    ],
    json: ['JSON', compactJson],
  };

function compactJson(cell: ByteString): ByteString | null {
  const scanner = new JsonScanner(cell);
  try {
    scanner.peek();
    const json = scanner.nested();
    scanner.end();
    return json;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** What says the type of a column, if the message has to say it. */
const TYPE_ORIGINS: Readonly<Partial<Record<InputColumn['from'], string>>> = {
  header: 'in the header',
  batch: 'when the batch started',
  published: 'in the published snapshot',
};

/** An error about a cell that does not match its column's type. @param given the cell as the file has it */
function mistyped(
  cell: ByteString,
  { name, type, from }: Pick<InputColumn, 'name' | 'type' | 'from'>,
  line: number,
  wanted: string,
  given: ByteString,
): InputError {
  const text = fromByteString(name);
  const value = fromByteString(cell);
  const comma = /^-?[\d.]+,\d+$/.test(value) ? ' If the file has decimal commas, set --decimal-comma.' : '';
  const isHours = wanted === CELLS.integer[0] && /^-?\d+[.,]\d+$/.test(value) && unitOfName(text) === 's';
  const hours = isHours ? ` If the cells are hours, set --unit ${text}=h.` : '';
  const remedy =
    from === 'published'
      ? `Correct the cell, or name the column \`${text}:string\` to send it as text.${comma}${hours}`
      : `Correct the cell.${comma}${hours}`;
  const origin = TYPE_ORIGINS[from];
  const typed = origin === undefined ? '' : `; its type ${origin} is ${type}`;
  return new InputError(`the cell of ${text} is not ${wanted}${typed}`, {
    line,
    remedy: `${remedy} An empty unquoted cell omits the field.`,
    value: fromByteString(given),
    ...(type === 'string' || type === 'json' ? {} : { about: { kind: type, column: text } }),
  });
}

/** The forms that are clear: grouped in threes by one kind of mark, and a comma before the fraction. */
const PLAIN = /^-?\d+(?:,\d+)?(?:[eE][+-]?\d+)?$/;
const GROUPED =
  /^-?[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,}|(?:[ \u00a0\u202f'\u2019]\d{3})+(?:,\d+)?)$/u;
const GROUP_MARKS = /[. \u00a0\u202f'\u2019]/gu;

/**
 * The JSON number that a text with a decimal comma writes: `1.234,50` gives `1234.50`. Digits keep their form. `null` for a
 * text that is not a number, or that is not clear: `1.234` may be a thousand or a decimal point.
 */
export function fromDecimalComma(text: string): string | null {
  if (!PLAIN.test(text) && !GROUPED.test(text)) return null;
  return text.replace(GROUP_MARKS, '').replace(',', '.');
}
