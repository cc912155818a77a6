import { toByteString } from '../../core/brands.js';
import { InputError } from '../../core/input-error.js';
import { DateReader } from '../dates.js';
import { isIso } from '../input-columns.js';
import { InputProblems } from '../input-problems.js';
import { clockText, serialTime, storedNumber } from './serial-time.js';
import { sheetLibrary } from './sheet-library.js';
import {
  damagedWorkbook,
  MergedCells,
  SHEET_COLUMNS,
  type SheetCell,
  type SheetInfo,
  type SheetRow,
  tooLargeWorkbook,
  Workbook,
} from './workbook.js';

export interface SheetOptions {
  /** Name or number of the sheet. Default: the only visible sheet with cells. */
  readonly sheet?: string | undefined;
  /** Zone of the times, such as `Europe/Berlin`. */
  readonly timezone?: string | undefined;
  /** Whether a column is left out, by its text in the header: its cells are no errors. */
  readonly isDropped: (header: string) => boolean;
}

/** A workbook whose sheet is not chosen yet. */
export interface OpenedWorkbook {
  /** The texts of a sheet's header. @throws InputError if the sheet is not clear */
  header(sheet: string | undefined): readonly string[];
  /**
   * A sheet as CSV with one record for each of its rows, so that the number of a record is that of the row. All cells have quotes but
   * stored numbers with a decimal point (`isStored`).
   *
   * @returns `problems`: the cells that have no value to send. They are empty in the CSV
   * @throws InputError if the sheet is not clear
   */
  toCsv(options: SheetOptions): { readonly csv: Buffer; readonly problems: InputProblems };
}

/** @throws InputError for a file that is no workbook; ConfigurationError without the packages */
export async function openWorkbook(file: AsyncIterable<Uint8Array>): Promise<OpenedWorkbook> {
  const workbook = new Workbook(await bytesOf(file), await sheetLibrary());
  return {
    header(sheet) {
      const info = chosenSheet(workbook, sheet);
      const writer = new CsvWriter(workbook.system, new MergedCells([]), { isDropped: () => false });
      for (const row of workbook.rows(info)) {
        writer.add(row);
        if (writer.header !== null) return writer.header.map((text) => text?.trim() ?? '');
      }
      return [];
    },
    toCsv(options) {
      const info = chosenSheet(workbook, options.sheet);
      const writer = new CsvWriter(workbook.system, workbook.mergedCells(info), options);
      for (const row of workbook.rows(info)) writer.add(row);
      return { csv: writer.end(), problems: writer.problems };
    },
  };
}

/** Most bytes of a workbook. All of it is in memory. */
const MAX_WORKBOOK_BYTES = 100 * 1024 ** 2;

async function bytesOf(file: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of file) {
    bytes += chunk.length;
    if (bytes > MAX_WORKBOOK_BYTES) throw tooLargeWorkbook(MAX_WORKBOOK_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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

/** Most characters of the CSV of a sheet. */
const MAX_CSV_CHARACTERS = 400 * 1024 ** 2;

/** Local time as `DateReader` reads it. */
const LOCAL = "yyyy-MM-dd'T'HH:mm:ss.SSS";

class CsvWriter {
  readonly problems = new InputProblems();
  readonly #system: 1900 | 1904;
  readonly #merged: MergedCells;
  readonly #options: SheetOptions;
  readonly #dates: DateReader | null;
  readonly #records: string[] = [];
  #characters = 0;
  /** The texts of the header by column; `null` before the first row. */
  header: readonly (string | null)[] | null = null;

  constructor(system: 1900 | 1904, merged: MergedCells, options: SheetOptions) {
    this.#system = system;
    this.#merged = merged;
    this.#options = options;
    const { timezone } = options;
    this.#dates = timezone === undefined ? null : new DateReader([LOCAL], timezone);
  }

  add({ row, cells }: SheetRow): void {
    if (row <= this.#records.length) throw damagedWorkbook();
    // Rows without cells are empty lines.
    while (this.#records.length < row - 1) this.#records.push('');
    const record = this.header === null ? this.#asHeader(row, cells) : this.#record(row, cells, this.header);
    this.#records.push(record);
    this.#characters += record.length + 1;
    if (this.#characters > MAX_CSV_CHARACTERS) throw tooLargeWorkbook(MAX_CSV_CHARACTERS);
  }

  end(): Buffer {
    return Buffer.from(`${this.#records.join('\n')}\n`);
  }

  #asHeader(row: number, cells: SheetRow['cells']): string {
    const isMerged = this.#merged.at(row, SHEET_COLUMNS);
    const header = Array.from({ length: lastColumn(cells) + 1 }, (_, at) => {
      const cell = cells.get(at);
      return cell === undefined || isMerged(at) ? null : this.#text(cell, row, `column ${at + 1}`);
    });
    if (header.some((text) => text !== null && text.trim() !== '')) this.header = header;
    return header.map(quoted).join(',');
  }

  #record(row: number, cells: SheetRow['cells'], header: readonly (string | null)[]): string {
    const isMerged = this.#merged.at(row, header.length);
    if ([...cells.keys()].every(isMerged)) return '';
    const columns = Math.max(header.length, lastColumn(cells) + 1);
    const record = Array.from({ length: columns }, (_, at) => {
      const name = header[at]?.trim() ?? '';
      const cell = cells.get(at);
      if (name !== '' && !this.#options.isDropped(name))
        return isMerged(at) ? this.#problem(MERGED, row, name) : this.#cell(cell, row, name);
      // The header decides whether a value without a name is an error.
      return cell === undefined || isMerged(at) ? '' : quoted(plainText(cell));
    });
    return record.join(',');
  }

  #cell(cell: SheetCell | undefined, row: number, name: string): string {
    if (cell === undefined) return '';
    const text = this.#text(cell, row, name);
    return isStoredFraction(cell, text) ? text : quoted(text);
  }

  /** The text of a cell; `null` for one with a problem. */
  #text(cell: SheetCell, row: number, column: string): string | null {
    const read = this.#read(cell);
    if (typeof read === 'string') return read;
    this.#problem(read, row, column);
    return null;
  }

  /** Collects a problem. @returns an empty cell */
  #problem({ problem, remedy, value, isZone = false }: CellProblem, row: number, column: string): '' {
    this.problems.add(
      new InputError(`the cell of ${column} ${problem}`, {
        line: row,
        remedy,
        ...(value === undefined ? {} : { value }),
        ...(isZone ? { about: { kind: 'zone' } } : {}),
      }),
    );
    return '';
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
    if (number !== null) return number;
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

const MERGED: CellProblem = {
  problem: 'is merged with another cell, so its value is not clear',
  remedy: 'Unmerge the cells, and give each row its value.',
};

/** Whether a cell is written as a stored number: integers are the same with a decimal comma. */
function isStoredFraction(cell: SheetCell, text: string | null): text is string {
  return cell.kind === 'number' && cell.format === 'number' && (text ?? '').includes('.');
}

/** The last column of a row with a cell; -1 without one. */
function lastColumn(cells: SheetRow['cells']): number {
  return Math.max(-1, ...cells.keys());
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
