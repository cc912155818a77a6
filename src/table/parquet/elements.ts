import type { SchemaElement } from 'hyparquet';
import { type ColumnType, decimalOf } from '../rules/column-type.js';

/** Precision up to which a decimal fits into 64 bits. */
const LONG_PRECISION = 18;
const LARGE_DECIMAL_BYTES = 16;

/** The Parquet field of a column (PROTOCOL.md, "Delta Data Type to Parquet Type Mappings"). */
export function parquetElement(name: string, type: ColumnType): SchemaElement {
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
