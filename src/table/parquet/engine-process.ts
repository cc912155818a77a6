import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ByteString } from '../../core/brands.js';
import { type DuckDbBindings, duckDbBindings } from '../../core/duckdb-library.js';
import { errorMessage } from '../../core/errors.js';
import type { TableSettings } from '../../core/settings.js';
import { keepThreadPoolAwake } from '../../core/thread-pool.js';
import { gunzipper, plainUnpacker } from '../../lake/part/part-rows.js';
import { RowSplitter, readRow, writeRow } from '../../lake/rows/csv.js';
import { cellDecoder } from '../../lake/rows/escaping.js';
import { connectTo, convertText, countUnfit, sqlName, sqlString } from './convert-text.js';
import type { Connection } from './duckdb.js';
import { type EngineFailure, failureOf, LibraryError } from './engine-failure.js';
import type { Converted, FileUpdate, PartFile } from './part-file.js';
import { updateFile } from './update-file.js';

/** What the process does for its parent. All paths are on this machine. */
export interface EngineOperations {
  /** The version of DuckDB. */
  version(nothing: null): Promise<string>;
  /** Converts a part. `writer`: version of DuckDB. */
  convert(input: {
    readonly part: PartFile;
    readonly to: string;
    readonly codec: TableSettings['codec'];
  }): Promise<Converted & { readonly writer: string }>;
  /** Writes the file of a part from an earlier one; `null`: the part must be converted. */
  update(input: {
    readonly update: FileUpdate;
    readonly to: string;
    readonly codec: TableSettings['codec'];
  }): Promise<(Converted & { readonly writer: string }) | null>;
  countUnfit(part: PartFile): Promise<readonly number[]>;
  /** Writes records, each a line of JSON, as a Parquet file with these columns, whose types are those of DuckDB. */
  writeRecords(input: {
    readonly from: string;
    readonly to: string;
    readonly types: Readonly<Record<string, string>>;
  }): Promise<null>;
  /** The records of a Parquet file as JSON, each with those of the columns that the file has. */
  readRecords(input: {
    readonly path: string;
    readonly columns: readonly string[];
  }): Promise<readonly string[]>;
}

export interface EngineRequest<Name extends keyof EngineOperations = keyof EngineOperations> {
  readonly name: Name;
  readonly input: Parameters<EngineOperations[Name]>[0];
}

export type EngineAnswer =
  | { readonly result: Awaited<ReturnType<EngineOperations[keyof EngineOperations]>> }
  | { readonly failure: EngineFailure };

/** The folder for files of the conversion, which this process removes if its parent dies. */
const folder = process.argv[2]!;

/** The main module of the process that works with DuckDB, so that its memory has a limit and its end is not that of a worker. */
let opened: Promise<EngineOperations> | null = null;

keepThreadPoolAwake();
process.on('message', (request: EngineRequest) => {
  void answer(request).then((answered) => process.send!(answered));
});
process.on('disconnect', () => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } finally {
    // A query that still runs would delay an orderly end.
    process.kill(process.pid, 'SIGKILL');
  }
});
// The parent, which gets the same signals from a terminal, finishes its work first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

async function answer({ name, input }: EngineRequest): Promise<EngineAnswer> {
  try {
    opened ??= open();
    const operations = await opened;
    const operation = operations[name] as (given: typeof input) => Promise<never>;
    return { result: await operation(input) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

async function open(): Promise<EngineOperations> {
  const bindings = loadBindings();
  return operationsOf(bindings, await connectTo(bindings, folder));
}

function loadBindings(): DuckDbBindings {
  try {
    return duckDbBindings('tables');
  } catch (error) {
    throw new LibraryError(errorMessage((error as Error).cause));
  }
}

function operationsOf(bindings: DuckDbBindings, connection: Connection): EngineOperations {
  return {
    version: async () => bindings.library_version(),
    async convert({ part, to, codec }) {
      const converted = await convertText(connection, await withoutEscapes(part), { to, codec });
      return { ...converted, writer: bindings.library_version() };
    },
    async update({ update, to, codec }) {
      const changes = await withoutEscapes(update.changes);
      const updated = await updateFile(connection, { ...update, changes }, { to, codec });
      return updated === null ? null : { ...updated, writer: bindings.library_version() };
    },
    countUnfit: async (part) => countUnfit(connection, await withoutEscapes(part)),
    async writeRecords({ from, to, types }) {
      const bytes = 2 * (await limitTo(connection, from)) + 1024;
      const columns = Object.entries(types).map(([name, type]) => `${sqlName(name)}: ${sqlString(type)}`);
      const options = `columns = {${columns.join(', ')}}, format = 'newline_delimited', maximum_object_size = ${bytes}`;
      await connection.run(
        `COPY (FROM read_json(${sqlString(from)}, ${options})) TO ${sqlString(to)} (FORMAT parquet, COMPRESSION snappy)`,
      );
      return null;
    },
    async readRecords({ path, columns }) {
      await limitTo(connection, path);
      const file = `read_parquet(${sqlString(path)})`;
      const there = await connection.texts(`SELECT column_name FROM (DESCRIBE FROM ${file})`);
      const names = new Set(there.map(([name]) => name));
      const fields = columns
        .filter((name) => names.has(name))
        .map((name) => `${sqlName(name)} := ${sqlName(name)}`);
      if (fields.length === 0) throw new RangeError('the file has none of the columns');
      const rows = await connection.texts(`SELECT to_json(struct_pack(${fields.join(', ')})) FROM ${file}`);
      return rows.map(([record]) => String(record));
    },
  };
}

const MiB = 1024 * 1024;
/** Memory of DuckDB for records, and how much of it is there for the bytes of their file. */
const RECORDS_BYTES = 256 * MiB;
const FILES_IN_MEMORY = 8;

/** Limits the memory for records. @returns the size of their file in bytes */
async function limitTo(connection: Connection, path: string): Promise<number> {
  const { size } = await stat(path);
  await connection.limitMemory(Math.max(RECORDS_BYTES, FILES_IN_MEMORY * size));
  return size;
}

async function withoutEscapes(part: PartFile): Promise<PartFile> {
  return (await decodePart(part, `${part.path}.decoded`)) ?? part;
}

/** Writes the text of a part without the escapes of `csv`, and not compressed. @returns `null` if it has no escapes */
async function decodePart(part: PartFile, to: string): Promise<PartFile | null> {
  const decode = cellDecoder(part.csv);
  if (decode === null) return null;
  let rawBytes = 0;
  const decoded = (row: ByteString): Buffer => {
    const cells = readRow(row, part.csv.delimiter);
    const values = cells.map((cell) => (cell === null ? null : decode(cell)));
    const bytes = Buffer.from(writeRow(values, part.csv.delimiter), 'latin1');
    rawBytes += bytes.length;
    return bytes;
  };
  await pipeline(Readable.from(decodedRows(part, decoded)), createWriteStream(to, { mode: 0o600 }));
  return { ...part, path: to, rawBytes, csv: { ...part.csv, compression: 'none' } };
}

async function* decodedRows(part: PartFile, decoded: (row: ByteString) => Buffer): AsyncGenerator<Buffer> {
  const splitter = new RowSplitter();
  for await (const piece of textOf(part)) {
    const rows = [...splitter.push(piece.toString('latin1'))];
    if (rows.length > 0) yield Buffer.concat(rows.map(decoded));
  }
}

async function* textOf({ path, csv }: PartFile): AsyncGenerator<Buffer> {
  const unpacker = csv.compression === 'gzip' ? gunzipper() : plainUnpacker;
  for await (const chunk of createReadStream(path)) yield* unpacker.push(chunk as Buffer);
  yield* unpacker.end();
  unpacker.close();
}
