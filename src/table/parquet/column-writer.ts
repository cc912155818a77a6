import {
  type ColumnType,
  joinTypes,
  typeOfValue,
  typeOfValues,
  type ValueClass,
} from '../rules/column-type.js';
import { ColumnBuffer } from './column-buffer.js';
import { MAX_EXTRA, type PlainEncoder, plainEncoderOf } from './plain.js';

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

/** A column while its part is converted: its type, and the values of the current row group. */
export class ColumnWriter {
  readonly column: PartColumn;
  /** Number of values that do not fit the type of the configuration. */
  unfit = 0;
  #type: ColumnType;
  #encode: PlainEncoder;
  #values = new ColumnBuffer(false);
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

  get values(): ColumnBuffer {
    return this.#values;
  }

  /** Begins a row group. A column whose values were not repeated in the last one is written without a dictionary. */
  clear(): void {
    this.#values = new ColumnBuffer(this.#values.repeats);
  }

  addNull(): void {
    this.#values.addNull();
  }

  /** @returns false if the type, which the configuration does not set, is too narrow for the value */
  add(bytes: Buffer, start: number, end: number): boolean {
    if (this.#values.add(this.#encode, bytes, start, end)) return true;
    if (!this.column.fixed) return false;
    this.unfit++;
    this.#values.addNull();
    return true;
  }

  /** Widens the type so that it holds the value, or keeps the value until {@link decide}. */
  learn(bytes: Buffer, start: number, end: number): void {
    if (this.column.fixed || this.#type === 'string') return;
    if (this.#type !== 'empty' && this.#fits(bytes, start, end)) return;
    const { kind } = this.column;
    const text = bytes.toString('latin1', start, end);
    if (this.#type === 'empty' && kind === 'number') this.#numbers.push(text);
    else this.#widen(typeOfValue(kind, text));
  }

  /** Derives the type from the values that were kept, and begins the first row group. */
  decide(): void {
    this.#widen(typeOfValues(this.column.kind, this.#numbers));
    this.#numbers = [];
    // Booleans have no dictionary (Encodings.md).
    this.#values = new ColumnBuffer(this.#type !== 'boolean');
  }

  #fits(bytes: Buffer, start: number, end: number): boolean {
    return this.#encode(bytes, start, end, Buffer.allocUnsafe(end - start + MAX_EXTRA), 0) !== -1;
  }

  #widen(type: ColumnType): void {
    this.#type = joinTypes(this.#type, type);
    this.#encode = this.#encoder();
  }

  #encoder(): PlainEncoder {
    return plainEncoderOf(this.#type, this.column.fixed ? 'all' : 'common');
  }
}
