import { type FileMetaData, parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

/** A Parquet file as the library hyparquet reads it, which is not the one that the connector writes with. */
export interface ParquetFile {
  readonly metadata: FileMetaData;
  /** A time is a number of microseconds, a decimal its digits without the point, and a date a number of days. */
  readonly rows: readonly Record<string, unknown>[];
}

export async function readParquet(body: Buffer): Promise<ParquetFile> {
  const file = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) as ArrayBuffer;
  const metadata = parquetMetadata(file);
  // The library would return decimals and times as floating-point numbers and milliseconds, and leave out byte order marks.
  const stored = { ...metadata, schema: metadata.schema.map(asStored) };
  const found = await parquetReadObjects({ file, metadata: stored, compressors, utf8: false });
  const elements = new Map(metadata.schema.map((element) => [element.name, element]));
  const rows = found.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, storedValue(elements.get(name)!, value)]),
    ),
  );
  return { metadata, rows };
}

function asStored(element: SchemaElement): SchemaElement {
  const { converted_type, logical_type, ...stored } = element;
  return stored;
}

function storedValue({ converted_type }: SchemaElement, value: unknown): unknown {
  if (converted_type === 'UTF8' && value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (converted_type !== 'DECIMAL') return value;
  if (typeof value === 'number') return BigInt(value);
  return value instanceof Uint8Array ? signedInteger(value) : value;
}

/** A big-endian two's complement. */
function signedInteger(bytes: Uint8Array): bigint {
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}
