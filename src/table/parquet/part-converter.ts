import { gzipSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import type { ColumnSource, ParquetWriter } from 'hyparquet-writer';
import type { ByteString } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { RowSplitter, readRow } from '../../lake/rows/csv.js';
import { cellDecoder, type Escaping } from '../../lake/rows/escaping.js';
import {
  type ColumnType,
  decimalOf,
  joinTypes,
  typeOfValue,
  typeOfValues,
  type ValueClass,
} from '../rules/column-type.js';
import { type Encoder, encoderOf, type ParquetValue } from '../rules/encode.js';
import type { ParquetLibrary } from './library.js';

/** CSV text of one row group, in bytes. It bounds the memory of a conversion. */
const GROUP_BYTES = 4 * 1024 * 1024;
/** zlib's fastest level. It is faster than the library's Snappy, and its files are smaller. */
const GZIP_LEVEL = 1;

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

/** The values of a row as text; `null` for an empty cell. */
type Row = readonly (ByteString | null)[];

interface ConversionEvents {
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
  readonly #delimiter: string;
  readonly #events: ConversionEvents;
  readonly #splitter = new RowSplitter();
  readonly #decode: ReturnType<typeof cellDecoder>;
  readonly #columns: readonly ColumnWriter[];
  readonly #bytes: InstanceType<ParquetLibrary['writer']['ByteWriter']>;
  /** The rows of the current row group. */
  #group: Row[] = [];
  #groupBytes = 0;
  #rows = -1;
  #file: ParquetWriter | null = null;
  readonly #footer: { key: string; value: string }[] = [];
  #widened = false;

  constructor(library: ParquetLibrary, job: ConversionJob, events: ConversionEvents) {
    this.#library = library;
    this.#delimiter = job.csv.delimiter;
    this.#events = events;
    this.#columns = job.columns.map((column) => new ColumnWriter(column));
    this.#decode = cellDecoder(job.csv);
    this.#bytes = new library.writer.ByteWriter();
  }

  /** @param piece the next bytes of the part, not compressed @throws RangeError if a row has another number of cells */
  push(piece: Buffer): void {
    for (const row of this.#splitter.push(piece.toString('latin1'))) this.#addRow(row);
  }

  end(): Converted {
    if (this.#splitter.rest() !== '') throw new RangeError('the part ends within a row');
    this.#endGroup();
    if (this.#widened) for (const column of this.#columns) column.decide();
    else if (this.#file !== null) {
      const counts = this.#columns.map(({ column, unfit }) => (column.fixed ? unfit : null));
      this.#footer.push({ key: UNFIT_KEY, value: JSON.stringify(counts) });
      this.#file.finish();
      this.#send();
    }
    const types = this.#columns.map(({ type }) => type);
    const unfit = this.#columns.map((column) => column.unfit);
    return { outcome: this.#widened ? 'widened' : 'written', rows: Math.max(0, this.#rows), types, unfit };
  }

  #addRow(row: ByteString): void {
    // The header.
    if (this.#rows++ < 0) return;
    const cells = readRow(row, this.#delimiter);
    if (cells.length !== this.#columns.length)
      throw new RangeError(`row ${this.#rows} has ${cells.length} cells instead of ${this.#columns.length}`);
    const decode = this.#decode;
    this.#group.push(decode === null ? cells : cells.map((cell) => (cell === null ? null : decode(cell))));
    this.#groupBytes += row.length;
    if (this.#groupBytes >= GROUP_BYTES) this.#endGroup();
  }

  /** Writes the row group, or only learns the types of its values if the file has become invalid. */
  #endGroup(): void {
    const rows = this.#group;
    this.#group = [];
    this.#groupBytes = 0;
    if (rows.length === 0) return;
    if (this.#file === null) {
      this.#learn(rows);
      for (const column of this.#columns) column.decide();
      this.#open();
    }
    if (!this.#widened) this.#widened = !this.#write(rows);
    if (this.#widened) this.#learn(rows);
  }

  #learn(rows: readonly Row[]): void {
    for (const [at, column] of this.#columns.entries()) for (const row of rows) column.learn(row[at]!);
  }

  /** @returns false if the type of a column is too narrow for a value */
  #write(rows: readonly Row[]): boolean {
    const columnData: ColumnSource[] = [];
    for (const [at, column] of this.#columns.entries()) {
      const data = column.encode(rows, at);
      if (data === null) return false;
      if (column.type === 'empty') continue;
      const isNull = data.every((value) => value === null);
      // Some readers reject a page of no bytes that is compressed.
      columnData.push({ name: column.column.alias, data, ...(isNull && { codec: 'UNCOMPRESSED' }) });
    }
    this.#file!.write({ columnData, rowGroupSize: rows.length });
    this.#send();
    return true;
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
      compressors: { GZIP: (bytes) => gzipSync(bytes, { level: GZIP_LEVEL }) },
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

/** A column of a part, in the order of the header. */
interface PartColumn {
  /** Name in the table. */
  readonly alias: string;
  readonly kind: ValueClass;
  /** Type to begin with. */
  readonly type: ColumnType;
  /** Whether the configuration sets the type. */
  readonly fixed: boolean;
}

/** A column while its part is converted: its type, and how many values do not fit it. */
class ColumnWriter {
  readonly column: PartColumn;
  /** Number of values that do not fit the type of the configuration. */
  unfit = 0;
  #type: ColumnType;
  #encode: Encoder;
  /** Numbers of a column without a type yet. Together, they can have a narrower type than the join of their types. */
  #numbers: string[] = [];

  constructor(column: PartColumn) {
    this.column = column;
    this.#type = column.type;
    this.#encode = this.#encoder();
  }

  get type(): ColumnType {
    return this.#type;
  }

  /**
   * The values of this column in a row group.
   *
   * @param at position of the column in the rows
   * @returns null if the type, which the configuration does not set, is too narrow for a value
   */
  encode(rows: readonly (readonly (ByteString | null)[])[], at: number): (ParquetValue | null)[] | null {
    const values: (ParquetValue | null)[] = new Array(rows.length);
    for (let row = 0; row < rows.length; row++) {
      const cell = rows[row]![at]!;
      const value = cell === null ? null : this.#encode(cell);
      if (value === undefined) {
        if (!this.column.fixed) return null;
        this.unfit++;
      }
      values[row] = value ?? null;
    }
    return values;
  }

  /** Widens the type so that it holds the value, or keeps the value until {@link decide}. */
  learn(cell: ByteString | null): void {
    if (cell === null || this.column.fixed || this.#type === 'string') return;
    if (this.#type !== 'empty' && this.#encode(cell) !== undefined) return;
    const { kind } = this.column;
    if (this.#type === 'empty' && kind === 'number') this.#numbers.push(cell);
    else this.#widen(typeOfValue(kind, cell));
  }

  /** Derives the type from the values that were kept. */
  decide(): void {
    this.#widen(typeOfValues(this.column.kind, this.#numbers));
    this.#numbers = [];
  }

  #widen(type: ColumnType): void {
    this.#type = joinTypes(this.#type, type);
    this.#encode = this.#encoder();
  }

  #encoder(): Encoder {
    return encoderOf(this.#type, this.column.fixed ? 'all' : 'common');
  }
}

/** Largest precision of a decimal that fits into 64 bits. */
const LONG_PRECISION = 18;
const LARGE_DECIMAL_BYTES = 16;

/** The Parquet field of a column (PROTOCOL.md, "Delta Data Type to Parquet Type Mappings"). */
function parquetElement(name: string, type: ColumnType): SchemaElement {
  const field = { name, repetition_type: 'OPTIONAL' } as const;
  switch (type) {
    case 'boolean':
      return { ...field, type: 'BOOLEAN' };
    case 'long':
      return { ...field, type: 'INT64' };
    case 'double':
      return { ...field, type: 'DOUBLE' };
    case 'date':
      return { ...field, type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } };
    case 'timestamp':
      return {
        ...{ ...field, type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    case 'string':
    case 'empty':
      return { ...field, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    default: {
      const { precision, scale } = decimalOf(type)!;
      const stored =
        precision <= LONG_PRECISION
          ? ({ type: 'INT64' } as const)
          : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: LARGE_DECIMAL_BYTES } as const);
      const logical = { type: 'DECIMAL', precision, scale } as const;
      return { ...field, ...stored, converted_type: 'DECIMAL', precision, scale, logical_type: logical };
    }
  }
}
