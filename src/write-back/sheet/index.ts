import { toByteString } from '../../core/brands.js';
import { DateReader } from '../dates.js';
import { isIso } from '../input-columns.js';
import { InputError } from '../input-error.js';
import { InputProblems } from '../input-problems.js';
import { clockText, serialTime, storedNumber } from './serial-time.js';
import { sheetLibrary } from './sheet-library.js';
import { damagedWorkbook, type SheetCell, type SheetInfo, type SheetRow, Workbook } from './workbook.js';

export interface SheetOptions {
  /** Name or number of the sheet. Default: the only visible sheet with cells. */
  readonly sheet?: string | undefined;
  /** Zone of the times, such as `Europe/Berlin`. */
  readonly timezone?: string | undefined;
  /** Whether texts in columns of numbers have a decimal comma. Stored numbers are then written with one, too. */
  readonly decimalComma?: boolean | undefined;
  /** Whether a column is left out, by its text in the header: its cells are no errors. */
  readonly isDropped: (header: string) => boolean;
}

/**
 * A sheet as CSV with one record for each of its rows, so that the number of a record is that of the row.
 *
 * @returns `problems`: the cells that have no value to send. They are empty in the CSV
 * @throws InputError for a file that is no workbook, and if the sheet is not clear; ConfigurationError without the packages
 */
export async function sheetToCsv(
  bytes: Uint8Array,
  options: SheetOptions,
): Promise<{ readonly csv: Buffer; readonly problems: InputProblems }> {
  const workbook = new Workbook(bytes, await sheetLibrary());
  const writer = new CsvWriter(workbook.system, options);
  for (const row of workbook.rows(chosenSheet(workbook, options.sheet))) writer.add(row);
  return { csv: writer.end(), problems: writer.problems };
}

function chosenSheet(workbook: Workbook, wanted: string | undefined): SheetInfo {
  const { sheets } = workbook;
  const names = sheets.map(({ name }) => JSON.stringify(name)).join(', ');
  if (wanted !== undefined) {
    const found = sheets.find(({ name }) => name === wanted) ?? sheets[Number(wanted) - 1];
    if (found !== undefined) return found;
    throw new InputError(`the workbook has no sheet ${JSON.stringify(wanted)}`, {
      remedy: `Its sheets are ${names}.`,
    });
  }
  const [only, ...others] = sheets.filter((one) => one.isVisible && workbook.hasCells(one));
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) throw new InputError('no visible sheet of the workbook has a cell with a value');
  throw new InputError(`the workbook has several sheets: ${names}`, {
    remedy: `Choose one with --sheet, such as --sheet ${JSON.stringify(only.name)}.`,
  });
}

/** Local time as `DateReader` reads it. */
const LOCAL = "yyyy-MM-dd'T'HH:mm:ss.SSS";

class CsvWriter {
  readonly problems = new InputProblems();
  readonly #system: 1900 | 1904;
  readonly #options: SheetOptions;
  readonly #dates: DateReader | null;
  readonly #records: string[] = [];
  /** The texts of the header by column; `null` before the first row. */
  #header: (string | null)[] | null = null;

  constructor(system: 1900 | 1904, options: SheetOptions) {
    this.#system = system;
    this.#options = options;
    const { timezone } = options;
    this.#dates = timezone === undefined ? null : new DateReader([LOCAL], timezone);
  }

  add({ row, cells }: SheetRow): void {
    if (row <= this.#records.length) throw damagedWorkbook();
    // Rows without cells are empty lines.
    while (this.#records.length < row - 1) this.#records.push('');
    if (this.#header === null) this.#records.push(this.#asHeader(row, cells));
    else this.#records.push(this.#record(row, cells, this.#header));
  }

  end(): Buffer {
    return Buffer.from(`${this.#records.join('\n')}\n`);
  }

  #asHeader(row: number, cells: SheetRow['cells']): string {
    const texts = lastColumn(cells);
    const header = texts.map((_, at) => {
      const cell = cells.get(at);
      return cell?.kind === 'merged' ? null : this.#text(cell, row, `column ${at + 1}`);
    });
    if (header.some((text) => text !== null && text.trim() !== '')) this.#header = header;
    return header.map(quoted).join(',');
  }

  #record(row: number, cells: SheetRow['cells'], header: readonly (string | null)[]): string {
    const isEmpty = [...cells.values()].every(({ kind }) => kind === 'merged');
    if (isEmpty) return '';
    const columns = Math.max(header.length, lastColumn(cells).length);
    const record = Array.from({ length: columns }, (_, at) => {
      const name = header[at]?.trim() ?? '';
      // The header decides whether a value without a name is an error.
      const cell = cells.get(at);
      if (name !== '' && !this.#options.isDropped(name)) return quoted(this.#text(cell, row, name));
      return cell === undefined || cell.kind === 'merged' ? '' : quoted(plainText(cell));
    });
    return record.join(',');
  }

  /** The text of a cell; `null` for an empty one, and for one with a problem. */
  #text(cell: SheetCell | undefined, row: number, column: string): string | null {
    if (cell === undefined) return null;
    const read = this.#read(cell);
    if (typeof read === 'string') return read;
    const { problem, remedy, value, isZone = false } = read;
    this.problems.add(
      new InputError(`the cell of ${column} ${problem}`, {
        line: row,
        remedy,
        ...(value === undefined ? {} : { value }),
        ...(isZone ? { about: { kind: 'zone' } } : {}),
      }),
    );
    return null;
  }

  #read(cell: SheetCell): string | CellProblem {
    switch (cell.kind) {
      case 'text':
        return cell.text;
      case 'boolean':
        return cell.value ? 'TRUE' : 'FALSE';
      case 'error':
        return { problem: `has the error ${cell.code}`, remedy: 'Correct its formula, or clear the cell.' };
      case 'no-result':
        return {
          problem: 'has a formula without a result',
          remedy: 'Open the file in a spreadsheet program, which computes it, and save it.',
        };
      case 'merged':
        return {
          problem: 'is merged with another cell, so its value is not clear',
          remedy: 'Unmerge the cells, and give each row its value.',
        };
      case 'iso':
        return isIso(toByteString(cell.text), 'date or time')
          ? cell.text
          : this.#time(Date.parse(`${cell.text}Z`), cell.text);
      case 'number':
        return cell.format === 'number' ? this.#number(cell.literal) : this.#date(cell);
    }
  }

  #number(literal: string): string | CellProblem {
    const number = storedNumber(literal);
    if (number !== null) return this.#options.decimalComma === true ? number.replace('.', ',') : number;
    return {
      problem: 'is a number of more than 15 digits, which a spreadsheet does not keep',
      remedy:
        'Format the column as text and enter the number again, or round the result of the formula: =ROUND(…, 2).',
      value: literal,
    };
  }

  #date({ literal, format }: Extract<SheetCell, { kind: 'number' }>): string | CellProblem {
    const serial = Number(literal);
    if (format === 'elapsed' || (format === 'time' && serial < 1)) {
      const text = clockText(serial);
      return text ?? { problem: 'is a negative duration', remedy: 'Correct the cell.', value: literal };
    }
    const time = serialTime(serial, this.#system);
    if (time === null)
      return { problem: 'has the format of a date and is none', remedy: 'Correct the cell.', value: literal };
    const iso = new Date(time).toISOString();
    return format === 'date' && Number.isInteger(serial) ? iso.slice(0, 10) : this.#time(time, iso);
  }

  /** @param local as `serialTime` gives it */
  #time(local: number, shown: string): string | CellProblem {
    if (Number.isNaN(local)) return { problem: 'is no date', remedy: 'Correct the cell.', value: shown };
    const text = new Date(local).toISOString().slice(0, -1);
    const read = this.#dates?.read(text);
    if (read === undefined)
      return {
        problem: 'is a time without a zone',
        remedy: 'Set the time zone with --timezone, such as Europe/Berlin.',
        value: text,
        isZone: true,
      };
    if (read === null) return { problem: 'is no date', remedy: 'Correct the cell.', value: text };
    return 'iso' in read ? read.iso : { ...read, value: text };
  }
}

interface CellProblem {
  readonly problem: string;
  readonly remedy: string;
  readonly value?: string;
  readonly isZone?: boolean;
}

/** An array as long as the columns of a row. */
function lastColumn(cells: SheetRow['cells']): readonly null[] {
  return Array.from({ length: Math.max(-1, ...cells.keys()) + 1 }, () => null);
}

/** The text of a cell that is not sent. */
function plainText(cell: SheetCell): string {
  if (cell.kind === 'text' || cell.kind === 'iso') return cell.text;
  if (cell.kind === 'number') return cell.literal;
  return cell.kind === 'boolean' ? String(cell.value) : '';
}

function quoted(text: string | null): string {
  return text === null ? '' : `"${text.replaceAll('"', '""')}"`;
}
