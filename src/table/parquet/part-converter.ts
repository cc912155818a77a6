import type { ParquetWriter } from 'hyparquet-writer';
import type { CsvSettings } from '../../core/settings.js';
import { readCell } from '../../lake/rows/csv.js';
import { cellDecoder, type Escaping } from '../../lake/rows/escaping.js';
import type { ColumnType } from '../rules/column-type.js';
import { CellScanner } from './cell-scanner.js';
import { ColumnWriter, type PartColumn } from './column-writer.js';
import { parquetElement } from './elements.js';
import type { ParquetLibrary } from './library.js';
import { writeRowGroup } from './row-group.js';

/** CSV text of one row group, in bytes. It bounds the memory of a conversion. */
const GROUP_BYTES = 4 * 1024 * 1024;
const QUOTE = 0x22;

/** Key of the footer's metadata that holds the types of the file's columns, in the order of the part. */
export const TYPES_KEY = 'worktrack.types';
/**
 * Key of the number of values that do not fit, by column, for the columns whose type the configuration sets; null for
 * the others.
 */
export const UNFIT_KEY = 'worktrack.unfit';

export interface ConversionJob {
  readonly columns: readonly PartColumn[];
  readonly csv: Pick<CsvSettings, 'compression' | 'delimiter'> & Escaping;
}

/** The result of a conversion. */
export interface Converted {
  /** `widened`: a later value needs a wider type than the file was begun with, so the file is not valid. */
  readonly outcome: 'written' | 'widened';
  readonly rows: number;
  /** Types that hold all values of the part, in the order of its columns. */
  readonly types: readonly ColumnType[];
  /** Number of values, by column, that do not fit the type of the configuration and are NULL in the file. */
  readonly unfit: readonly number[];
}

export interface ConversionEvents {
  /** Called once, before the first bytes. */
  readonly onTypes: (types: readonly ColumnType[]) => void;
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void;
}

/**
 * Converts the text of one part to a Parquet file, row group by row group. The first row group decides the types of the
 * columns. If a later value needs a wider type, the rest of the part is only read, so that one more conversion suffices.
 */
export class PartConverter {
  readonly #library: ParquetLibrary;
  readonly #job: ConversionJob;
  readonly #events: ConversionEvents;
  readonly #scanner: CellScanner;
  readonly #decode: ReturnType<typeof cellDecoder>;
  readonly #columns: readonly ColumnWriter[];
  readonly #bytes: InstanceType<ParquetLibrary['writer']['ByteWriter']>;
  /** Rows of the first row group, until it has decided the types. */
  #first: Buffer[] = [];
  #groupBytes = 0;
  #rows = -1;
  #file: ParquetWriter | null = null;
  readonly #footer: { key: string; value: string }[] = [];
  #widened = false;

  constructor(library: ParquetLibrary, job: ConversionJob, events: ConversionEvents) {
    this.#library = library;
    this.#job = job;
    this.#events = events;
    this.#columns = job.columns.map((column) => new ColumnWriter(column));
    this.#decode = cellDecoder(job.csv);
    this.#scanner = new CellScanner(job.csv.delimiter, job.columns.length);
    this.#bytes = new library.writer.ByteWriter();
  }

  /** @param piece the next bytes of the part, not compressed @throws RangeError if a row has another number of cells */
  push(piece: Buffer): void {
    this.#scanner.push(piece, this.#onRow);
  }

  end(): Converted {
    if (this.#scanner.end(this.#onRow) > 0) throw new RangeError('the part ends within a row');
    if (this.#first.length > 0) this.#begin();
    if (this.#widened) for (const column of this.#columns) column.decide();
    else if (this.#file !== null) {
      this.#writeGroup();
      const counts = this.#columns.map(({ column, unfit }) => (column.fixed ? unfit : null));
      this.#footer.push({ key: UNFIT_KEY, value: JSON.stringify(counts) });
      this.#file.finish();
      this.#send();
    }
    const types = this.#columns.map(({ type }) => type);
    const unfit = this.#columns.map((column) => column.unfit);
    return { outcome: this.#widened ? 'widened' : 'written', rows: Math.max(0, this.#rows), types, unfit };
  }

  readonly #onRow = (bytes: Buffer, start: number, end: number): void => {
    // The header.
    if (this.#rows++ < 0) return;
    const { cells } = this.#scanner;
    if (cells !== this.#columns.length)
      throw new RangeError(`row ${this.#rows} has ${cells} cells instead of ${this.#columns.length}`);
    if (this.#file === null) {
      this.#each(bytes, learn);
      this.#first.push(bytes.subarray(start, end));
      this.#groupBytes += end - start;
      if (this.#groupBytes >= GROUP_BYTES) this.#begin();
    } else if (this.#widened) this.#each(bytes, learn);
    else this.#add(bytes, end - start);
  };

  /** Begins the file with the rows that decided its types. */
  #begin(): void {
    const rows = this.#first;
    this.#first = [];
    this.#groupBytes = 0;
    for (const column of this.#columns) column.decide();
    this.#open();
    const scanner = new CellScanner(this.#job.csv.delimiter, this.#columns.length);
    for (const row of rows) scanner.push(row, (bytes) => this.#each(bytes, add, scanner));
    this.#writeGroup();
  }

  /** Adds a row to the row group, unless the type of a column is too narrow. */
  #add(bytes: Buffer, length: number): void {
    if (this.#each(bytes, add)) {
      this.#groupBytes += length;
      if (this.#groupBytes >= GROUP_BYTES) this.#writeGroup();
    } else {
      this.#widened = true;
      for (const column of this.#columns) column.clear();
      this.#each(bytes, learn);
    }
  }

  /** Passes the cells of a row to their columns, until one rejects its cell. @returns whether none did */
  #each(bytes: Buffer, visit: Visit, { bounds } = this.#scanner): boolean {
    const isPlain = this.#decode === null;
    for (let at = 0; at < this.#columns.length; at++) {
      const column = this.#columns[at]!;
      const [start, end] = [bounds[2 * at]!, bounds[2 * at + 1]!];
      let isTaken: boolean;
      if (start === end) isTaken = visit(column, null, 0, 0);
      else if (isPlain && bytes[start] !== QUOTE) isTaken = visit(column, bytes, start, end);
      else {
        const value = this.#value(bytes, start, end);
        isTaken = visit(column, value, 0, value.length);
      }
      if (!isTaken) return false;
    }
    return true;
  }

  /** The value of a cell without its quotes and escapes. */
  #value(bytes: Buffer, start: number, end: number): Buffer {
    const cell = readCell(bytes.toString('latin1', start, end))!;
    return Buffer.from(this.#decode === null ? cell : this.#decode(cell), 'latin1');
  }

  #writeGroup(): void {
    this.#groupBytes = 0;
    if (this.#columns[0]!.values.rows === 0) return;
    const columns = this.#columns
      .filter(({ type }) => type !== 'empty')
      .map(({ column, type, values }) => ({ element: parquetElement(column.alias, type), values }));
    writeRowGroup(this.#library, this.#file!, columns);
    for (const column of this.#columns) column.clear();
    this.#send();
  }

  #open(): void {
    const types = this.#columns.map(({ type }) => type);
    const fields = this.#columns
      .filter(({ type }) => type !== 'empty')
      .map(({ column, type }) => parquetElement(column.alias, type));
    this.#events.onTypes(types);
    this.#footer.push({ key: TYPES_KEY, value: JSON.stringify(types) });
    this.#file = new this.#library.writer.ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: 'root', num_children: fields.length }, ...fields],
      codec: 'GZIP',
      // Statistics contain values.
      statistics: false,
      // It is written at the end of the file.
      kvMetadata: this.#footer,
      createdBy: 'temporal-worktrack',
    });
  }

  #send(): void {
    const { buffer, index } = this.#bytes;
    this.#events.onBytes(new Uint8Array(buffer.slice(0, index)));
    this.#bytes.index = 0;
  }
}

/** Takes a cell, without bytes if it is null. @returns false if the column's type is too narrow */
type Visit = (column: ColumnWriter, bytes: Buffer | null, start: number, end: number) => boolean;

const learn: Visit = (column, bytes, start, end) => {
  if (bytes !== null) column.learn(bytes, start, end);
  return true;
};

const add: Visit = (column, bytes, start, end) => {
  if (bytes !== null) return column.add(bytes, start, end);
  column.addNull();
  return true;
};
