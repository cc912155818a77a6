import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { decodeStruct, encodeStruct, type Field, type List, type Struct, TYPE } from './thrift.js';

/**
 * Parquet files from columns of other ones. The bytes of a column are copied; the footer says where they are
 * (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
 */

/** A Parquet file on this machine without nested columns. */
export interface ParquetFile {
  readonly path: string;
  readonly footer: Struct;
}

/** A column of a row group. */
export interface ColumnSource {
  readonly file: ParquetFile;
  readonly group: number;
  readonly column: number;
}

/** Numbers of the fields that are read or changed. */
const FILE = { schema: 2, rows: 3, groups: 4, metadata: 5, orders: 7 } as const;
const ELEMENT = { name: 4, children: 5 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const GROUP = { columns: 1, bytes: 2, rows: 3, offset: 5, compressed: 6 } as const;
const CHUNK = { offset: 2, metadata: 3 } as const;
const COLUMN = { bytes: 6, compressed: 7, data: 9, dictionary: 11 } as const;
/** Places of indexes and filters, which are not copied. */
const [INDEXES, FILTERS] = [
  [4, 5, 6, 7],
  [14, 15],
];

const MAGIC = Buffer.from('PAR1');
/** The length of the footer, and the magic bytes again. */
const TRAILER_BYTES = 8;

/** @throws RangeError if it is not a Parquet file */
export async function openParquet(path: string): Promise<ParquetFile> {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    return { path, footer: await readFooter(size, async (at, length) => readAt(file, at, length)) };
  } finally {
    closeSync(file);
  }
}

/**
 * The footer of a Parquet file, wherever it is.
 *
 * @param size of the file in bytes
 * @throws RangeError as `openParquet`
 */
export async function readFooter(
  size: number,
  read: (at: number, length: number) => Promise<Buffer>,
): Promise<Struct> {
  const trailer = size < TRAILER_BYTES ? MAGIC : await read(size - TRAILER_BYTES, TRAILER_BYTES);
  const length = trailer.readUInt32LE(0);
  if (!trailer.subarray(4).equals(MAGIC) || length > size - TRAILER_BYTES)
    throw new RangeError('it does not end as a Parquet file');
  return decodeStruct(await read(size - TRAILER_BYTES - length, length));
}

/** The metadata in a footer. */
export function metadataOf(footer: Struct): Record<string, string> {
  if (!footer.has(FILE.metadata)) return {};
  const text = (entry: Struct, id: number): string => String(entry.get(id)?.value ?? '');
  return Object.fromEntries(
    structs(footer, FILE.metadata).map((entry) => [text(entry, ENTRY.key), text(entry, ENTRY.value)]),
  );
}

/** The names of the columns. */
export function namesOf(footer: Struct): string[] {
  const [, ...columns] = structs(footer, FILE.schema);
  return columns.map((column) => String(column.get(ELEMENT.name)?.value));
}

/** Rows of each row group. */
export function rowsOfGroups(footer: Struct): number[] {
  return structs(footer, FILE.groups).map((group) => number(group, GROUP.rows));
}

/**
 * Writes a file whose row groups have these columns.
 *
 * @param metadata in its footer
 * @throws RangeError if the columns of a row group do not have the same rows, or those of two groups not the same types
 */
export function assembleFile(
  to: string,
  groups: readonly (readonly ColumnSource[])[],
  metadata: Readonly<Record<string, string>>,
): void {
  const [first = []] = groups;
  const schema = first.map(elementOf);
  const isOfSchema = (source: ColumnSource, at: number): boolean => {
    const element = elementOf(source);
    return element === schema[at] || encodeStruct(element).equals(encodeStruct(schema[at]!));
  };
  if (!groups.every((group) => group.length === schema.length && group.every(isOfSchema)))
    throw new RangeError('the row groups have different columns');
  const { footer } = first[0]!.file;
  const root = structs(footer, FILE.schema)[0]!;
  const order = footer.has(FILE.orders) ? structs(footer, FILE.orders)[0] : undefined;
  const output = new Output(to);
  try {
    const written = groups.map((sources) => output.group(sources));
    const rows = written.reduce((sum, group) => sum + number(group, GROUP.rows), 0);
    output.end(
      changed(footer, [
        [FILE.schema, listOf([changed(root, [[ELEMENT.children, int(TYPE.I32, schema.length)]]), ...schema])],
        [FILE.rows, int(TYPE.I64, rows)],
        [FILE.groups, listOf(written)],
        [FILE.metadata, listOf(Object.entries(metadata).map(entryOf))],
        ...(order === undefined ? [] : [[FILE.orders, listOf(schema.map(() => order))] as const]),
      ]),
    );
  } finally {
    output.close();
  }
}

/** Bytes that are copied at a time. */
const COPY_BYTES = 1024 * 1024;

/** The file that is written, and those that it is copied from. */
class Output {
  readonly #file: number;
  readonly #sources = new Map<string, number>();
  readonly #buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  /** Of what is written and pending. */
  #length = MAGIC.length;
  /** Bytes of one file that come next but are not copied yet: columns that are neighbours there are copied together. */
  #pending = { path: '', from: 0, to: 0 };

  constructor(to: string) {
    this.#file = openSync(to, 'w', 0o600);
    this.#write(MAGIC);
  }

  /** Copies the columns of a row group. @returns what the footer says of it */
  group(sources: readonly ColumnSource[]): Struct {
    const [offset, groups] = [this.#length, sources.map(groupOf)];
    const rows = number(groups[0]!, GROUP.rows);
    if (groups.some((group) => number(group, GROUP.rows) !== rows))
      throw new RangeError('the columns of a row group have different rows');
    const chunks = sources.map((source) => this.#column(source));
    const bytes = chunks.reduce((sum, chunk) => sum + number(metadataIn(chunk), COLUMN.bytes), 0);
    return new Map([
      [GROUP.columns, listOf(chunks)],
      [GROUP.bytes, int(TYPE.I64, bytes)],
      [GROUP.rows, int(TYPE.I64, rows)],
      [GROUP.offset, int(TYPE.I64, offset)],
      [GROUP.compressed, int(TYPE.I64, this.#length - offset)],
    ]);
  }

  #column(source: ColumnSource): Struct {
    const chunk = structs(groupOf(source), GROUP.columns)[source.column]!;
    const metadata = metadataIn(chunk);
    const data = number(metadata, COLUMN.data);
    // Absent, or 0 in files of other writers.
    const dictionary = metadata.has(COLUMN.dictionary) ? number(metadata, COLUMN.dictionary) : 0;
    const start = dictionary > 0 ? Math.min(dictionary, data) : data;
    const moved = this.#length - start;
    this.#append(source.file.path, start, number(metadata, COLUMN.compressed));
    const places = changed(metadata, [
      [COLUMN.data, int(TYPE.I64, data + moved)],
      ...(dictionary > 0 ? [[COLUMN.dictionary, int(TYPE.I64, dictionary + moved)] as const] : []),
    ]);
    return changed(without(chunk, INDEXES), [
      [CHUNK.offset, int(TYPE.I64, 0)],
      [CHUNK.metadata, { type: TYPE.STRUCT, value: without(places, FILTERS) }],
    ]);
  }

  end(footer: Struct): void {
    const body = encodeStruct(footer);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(body.length);
    this.#copyPending();
    this.#write(Buffer.concat([body, length, MAGIC]));
  }

  close(): void {
    for (const file of [this.#file, ...this.#sources.values()]) closeSync(file);
  }

  /** Appends bytes of another file. */
  #append(path: string, from: number, length: number): void {
    if (path !== this.#pending.path || from !== this.#pending.to) {
      this.#copyPending();
      this.#pending = { path, from, to: from };
    }
    this.#pending.to += length;
    this.#length += length;
  }

  #copyPending(): void {
    const { path, from, to } = this.#pending;
    for (let at = from; at < to; at += COPY_BYTES) {
      const piece = this.#buffer.subarray(0, to - at);
      readInto(piece, this.#open(path), at);
      this.#write(piece);
    }
  }

  #open(path: string): number {
    const file = this.#sources.get(path) ?? openSync(path, 'r');
    this.#sources.set(path, file);
    return file;
  }

  #write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  readInto(bytes, file, position);
  return bytes;
}

function readInto(bytes: Buffer, file: number, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(file, bytes, at, bytes.length - at, position + at);
    if (read === 0) throw new RangeError('the file is shorter than it says');
    at += read;
  }
}

/** The column in the schema. The first element is the root. */
function elementOf({ file, column }: ColumnSource): Struct {
  return structs(file.footer, FILE.schema)[column + 1]!;
}

function groupOf({ file, group }: ColumnSource): Struct {
  return structs(file.footer, FILE.groups)[group]!;
}

function metadataIn(chunk: Struct): Struct {
  return chunk.get(CHUNK.metadata)!.value as Struct;
}

/** @throws RangeError if the field is missing, so that it is the footer of no Parquet file */
function structs(of: Struct, id: number): readonly Struct[] {
  const { items } = (of.get(id)?.value ?? {}) as Partial<List>;
  if (items === undefined) throw new RangeError('the footer has no list where one must be');
  return items as readonly Struct[];
}

function number(of: Struct, id: number): number {
  return of.get(id)?.value as number;
}

function int(type: number, value: number): Field {
  return { type, value };
}

function entryOf([key, value]: readonly [string, string]): Struct {
  const text = (of: string): Field => ({ type: TYPE.BINARY, value: Buffer.from(of) });
  return new Map([
    [ENTRY.key, text(key)],
    [ENTRY.value, text(value)],
  ]);
}

function listOf(items: readonly Struct[]): Field {
  return { type: TYPE.LIST, value: { type: TYPE.STRUCT, items } };
}

function changed(struct: Struct, fields: readonly (readonly [number, Field])[]): Struct {
  return new Map([...struct, ...fields]);
}

function without(struct: Struct, ids: readonly number[]): Struct {
  return new Map([...struct].filter(([id]) => !ids.includes(id)));
}
