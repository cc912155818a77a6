import type { ParquetWriter } from 'hyparquet-writer';
import type { CsvSettings } from '../../core/settings.js';
import { RowSplitter } from '../../lake/part/row-splitter.js';
import { readRow } from '../../lake/rows/csv.js';
import {
  type ColumnType,
  joinTypes,
  typeOfValue,
  typeOfValues,
  type ValueClass,
} from '../rules/column-type.js';
import { type Encoder, encoderOf, type ParquetValue } from '../rules/encode.js';
import { parquetElement } from './elements.js';
import type { ParquetLibrary } from './library.js';

/** CSV text of one row group, in bytes. It bounds the memory of a conversion. */
const GROUP_BYTES = 4 * 1024 * 1024;
/** CSV text that is split into cells at a time, in bytes. Cells that live for a short time cost the garbage collector less. */
const BATCH_BYTES = 128 * 1024;

/** Key of the footer's metadata that holds the types of the file's columns, in the order of the part. */
export const TYPES_KEY = 'worktrack.types';
/**
 * Key of the number of values that do not fit, by column, for the columns whose type the configuration sets; null for
 * the others.
 */
export const UNFIT_KEY = 'worktrack.unfit';

/** A column of a part, in the order of the header. */
export interface PartColumn {
  /** Name in the table. */
  readonly alias: string;
  readonly kind: ValueClass;
  /** Type to begin with. */
  readonly type: ColumnType;
  /** Whether the configuration sets the type. */
  readonly fixed: boolean;
}

export interface ConversionJob {
  readonly columns: readonly PartColumn[];
  readonly delimiter: string;
  readonly lineBreaks: CsvSettings['lineBreaks'];
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

interface ColumnState {
  readonly column: PartColumn;
  type: ColumnType;
  encode: Encoder;
  unfit: number;
  /** Values of the current row group. */
  values: (ParquetValue | null)[];
}

/**
 * Converts the text of one part to a Parquet file, row group by row group. The first row group decides the types of the
 * columns. If a later value needs a wider type, the rest of the part is only read, so that one more conversion suffices.
 */
export class PartConverter {
  readonly #library: ParquetLibrary;
  readonly #job: ConversionJob;
  readonly #events: ConversionEvents;
  readonly #splitter = new RowSplitter();
  readonly #columns: ColumnState[];
  readonly #bytes: InstanceType<ParquetLibrary['writer']['ByteWriter']>;
  #cells: (string | null)[][];
  #held = 0;
  #heldRows = 0;
  #groupBytes = 0;
  #rows = -1;
  #file: ParquetWriter | null = null;
  readonly #footer: { key: string; value: string }[] = [];
  #widened = false;

  constructor(library: ParquetLibrary, job: ConversionJob, events: ConversionEvents) {
    this.#library = library;
    this.#job = job;
    this.#events = events;
    this.#columns = job.columns.map((column) => ({
      ...{ column, unfit: 0, values: [] },
      ...typed(column, column.type),
    }));
    this.#cells = job.columns.map(() => []);
    this.#bytes = new library.writer.ByteWriter();
  }

  /** @param text the next piece of the part, one character per byte @throws RangeError if a row has another number of cells */
  push(text: string): void {
    for (const row of this.#splitter.push(text)) {
      if (this.#rows++ >= 0) this.#take(row);
    }
  }

  end(): Converted {
    if (this.#splitter.rest() !== '') throw new RangeError('the part ends within a row');
    this.#flush();
    if (this.#file !== null && !this.#widened) {
      this.#writeGroup();
      const unfit = this.#columns.map(({ column, unfit: count }) => (column.fixed ? count : null));
      this.#footer.push({ key: UNFIT_KEY, value: JSON.stringify(unfit) });
      this.#file.finish();
      this.#send();
    }
    const types = this.#columns.map(({ type }) => type);
    const unfit = this.#columns.map((column) => column.unfit);
    return { outcome: this.#widened ? 'widened' : 'written', rows: Math.max(0, this.#rows), types, unfit };
  }

  #take(row: string): void {
    const cells = readRow(row, this.#job.delimiter);
    if (cells.length !== this.#cells.length)
      throw new RangeError(`row ${this.#rows} has ${cells.length} cells instead of ${this.#cells.length}`);
    for (let at = 0; at < cells.length; at++) this.#cells[at]!.push(cells[at]!);
    this.#held += row.length;
    this.#heldRows++;
    // The first row group decides the types.
    if (this.#held >= (this.#file === null ? GROUP_BYTES : BATCH_BYTES)) this.#flush();
  }

  #flush(): void {
    if (this.#heldRows === 0) return;
    const cells =
      this.#job.lineBreaks === 'escape' ? this.#cells.map((column) => column.map(unescaped)) : this.#cells;
    this.#cells = this.#columns.map(() => []);
    this.#groupBytes += this.#held;
    this.#held = 0;
    this.#heldRows = 0;
    if (this.#widened || !this.#encode(cells))
      for (const [at, column] of cells.entries()) this.#widen(at, column);
    else if (this.#groupBytes >= GROUP_BYTES) this.#writeGroup();
  }

  /** @returns whether the types of the file hold all values */
  #encode(cells: readonly (readonly (string | null)[])[]): boolean {
    if (this.#file === null) {
      for (const [at, column] of cells.entries()) this.#widen(at, column);
      this.#open();
    }
    this.#widened = !this.#columns.every((column, at) => encodeCells(column, cells[at]!));
    return !this.#widened;
  }

  #writeGroup(): void {
    const rowGroupSize = this.#columns[0]!.values.length;
    this.#groupBytes = 0;
    if (rowGroupSize === 0) return;
    const columnData = this.#columns
      .filter(({ type }) => type !== 'empty')
      .map(({ column, values }) => ({ name: column.alias, data: values }));
    this.#file!.write({ columnData, rowGroupSize });
    for (const column of this.#columns) column.values = [];
    this.#send();
  }

  /** Widens the type of a column so that it holds these cells. */
  #widen(at: number, cells: readonly (string | null)[]): void {
    const state = this.#columns[at]!;
    const { column } = state;
    if (column.fixed) return;
    if (state.type === 'empty') Object.assign(state, typed(column, typeOfValues(column.kind, cells)));
    for (const cell of cells) {
      if (cell === null || state.type === 'string') continue;
      if (state.encode(cell) !== undefined) continue;
      Object.assign(state, typed(column, joinTypes(state.type, typeOfValue(column.kind, cell))));
    }
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

function typed({ fixed }: PartColumn, type: ColumnType): Pick<ColumnState, 'type' | 'encode'> {
  return { type, encode: encoderOf(type, fixed ? 'all' : 'common') };
}

/**
 * Adds the values of these cells to the row group.
 *
 * @returns false if the type of the column, which the configuration does not set, is too narrow
 */
function encodeCells(state: ColumnState, cells: readonly (string | null)[]): boolean {
  const { column, encode, values } = state;
  for (const cell of cells) {
    const value = cell === null ? null : encode(cell);
    if (value === undefined) {
      if (!column.fixed) return false;
      state.unfit++;
    }
    values.push(value ?? null);
  }
  return true;
}

/** Restores what `csv.lineBreaks: escape` wrote as two characters. */
function unescaped(cell: string | null): string | null {
  if (cell === null || !cell.includes('\\')) return cell;
  return cell.replace(/\\([\\nr])/g, (_, code: string) => (code === 'n' ? '\n' : code === 'r' ? '\r' : '\\'));
}
