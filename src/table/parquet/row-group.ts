import { gzipSync } from 'node:zlib';
import type { ColumnChunk, Encoding, PageHeader, SchemaElement } from 'hyparquet';
import type { ParquetWriter } from 'hyparquet-writer';
import type { ColumnBuffer } from './column-buffer.js';
import type { ParquetLibrary } from './library.js';

/** A column of a file, and its values in the row group. */
export interface ColumnValues {
  readonly element: SchemaElement;
  readonly values: ColumnBuffer;
}

/** zlib's fastest level. It is faster than the library's Snappy, and its files are smaller. */
const GZIP_LEVEL = 1;

/**
 * Adds a row group to a file: for each column, a dictionary page if its values repeat, and one data page of version 2
 * (parquet.thrift). The values are encoded already; the library's method for a row group takes each as a JavaScript value.
 *
 * @throws TypeError if columns have different numbers of rows
 */
export function writeRowGroup(
  library: ParquetLibrary,
  file: ParquetWriter,
  columns: readonly ColumnValues[],
): void {
  const rows = columns[0]?.values.rows ?? 0;
  if (columns.some(({ values }) => values.rows !== rows))
    throw new TypeError('the columns of a row group have different numbers of rows');
  const start = file.writer.offset;
  const chunks = columns.map((column) => writeChunk(library, file, column));
  file.num_rows += BigInt(rows);
  file.row_groups.push({
    columns: chunks,
    num_rows: BigInt(rows),
    total_byte_size: chunks.reduce((sum, { meta_data }) => sum + meta_data!.total_uncompressed_size, 0n),
    total_compressed_size: BigInt(file.writer.offset - start),
  });
}

function writeChunk(library: ParquetLibrary, file: ParquetWriter, column: ColumnValues): ColumnChunk {
  const { element, values } = column;
  const { writer } = file;
  const encoding: Encoding = values.dictionary === null ? 'PLAIN' : 'RLE_DICTIONARY';
  const start = writer.offset;
  let uncompressed = values.dictionary === null ? 0 : writeDictionary(library, file, values);
  const dataStart = writer.offset;
  uncompressed += writeData(library, file, column, encoding);
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type!,
      encodings: [...new Set<Encoding>(['PLAIN', 'RLE', encoding])],
      path_in_schema: [element.name],
      codec: file.codec,
      num_values: BigInt(values.rows),
      total_compressed_size: BigInt(writer.offset - start),
      total_uncompressed_size: BigInt(uncompressed),
      data_page_offset: BigInt(dataStart),
      ...(values.dictionary !== null && { dictionary_page_offset: BigInt(start) }),
    },
  };
}

/** @returns the size of the page without compression, with its header */
function writeDictionary(library: ParquetLibrary, file: ParquetWriter, values: ColumnBuffer): number {
  const header = { num_values: values.dictionary!.size, encoding: 'PLAIN' } as const;
  return writePage(library, file, values.plain, NO_LEVELS, () => ({
    type: 'DICTIONARY_PAGE',
    dictionary_page_header: header,
  }));
}

const NO_LEVELS = new Uint8Array();

function writeData(
  library: ParquetLibrary,
  file: ParquetWriter,
  { element, values }: ColumnValues,
  encoding: Encoding,
): number {
  const { ByteWriter } = library.writer;
  const levels = new ByteWriter();
  library.writeRle(levels, values.levels, 1);
  const { rows, nulls } = values;
  return writePage(library, file, dataOf(library, element, values), levels.getBytes(), (isCompressed) => ({
    type: 'DATA_PAGE_V2',
    data_page_header_v2: {
      ...{ num_values: rows, num_nulls: nulls, num_rows: rows, encoding },
      ...{ definition_levels_byte_length: levels.index, repetition_levels_byte_length: 0 },
      is_compressed: isCompressed,
    },
  }));
}

/** The values of a data page, without its levels. */
function dataOf(library: ParquetLibrary, element: SchemaElement, values: ColumnBuffer): Uint8Array {
  const { dictionary, plain } = values;
  if (dictionary === null) return element.type === 'BOOLEAN' ? packed(plain) : plain;
  const page = new library.writer.ByteWriter();
  const bitWidth = Math.ceil(Math.log2(dictionary.size));
  page.appendUint8(bitWidth);
  library.writeRle(page, dictionary.indexes, bitWidth);
  return page.getBytes();
}

/** One bit for each byte, the lowest first. */
function packed(booleans: Uint8Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(booleans.length / 8));
  for (let at = 0; at < booleans.length; at++) bits[at >> 3]! |= booleans[at]! << (at & 7);
  return bits;
}

type PageKind = Omit<PageHeader, 'uncompressed_page_size' | 'compressed_page_size'>;

/** @returns the size of the page without compression, with its header */
function writePage(
  { writePageHeader }: ParquetLibrary,
  { writer }: ParquetWriter,
  data: Uint8Array,
  levels: Uint8Array,
  kind: (isCompressed: boolean) => PageKind,
): number {
  const isCompressed = data.length > 0;
  const stored = isCompressed ? gzipSync(data, { level: GZIP_LEVEL }) : data;
  const start = writer.offset;
  writePageHeader(writer, {
    ...kind(isCompressed),
    uncompressed_page_size: levels.length + data.length,
    compressed_page_size: levels.length + stored.length,
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(levels);
  writer.appendBytes(stored);
  return headerBytes + levels.length + data.length;
}
