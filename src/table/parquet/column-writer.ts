import type { ByteString } from '../../core/brands.js';
import {
  type ColumnType,
  joinTypes,
  typeOfValue,
  typeOfValues,
  type ValueClass,
} from '../rules/column-type.js';
import { type Encoder, encoderOf, type ParquetValue } from '../rules/encode.js';

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

/** A column while its part is converted: its type, and how many values do not fit it. */
export class ColumnWriter {
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
