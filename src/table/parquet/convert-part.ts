import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../core/brands.js';
import type { TableSettings } from '../../core/settings.js';
import { damagedObject } from '../../lake/damaged-error.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { ObjectStore, WrittenObject } from '../../lake/store/index.js';
import { TableError } from '../errors.js';
import type { ColumnType } from '../rules/column-type.js';
import { type EngineUse, useEngine } from './engine.js';
import { EngineError } from './engine-failure.js';
import type { EngineScope } from './engine-scope.js';
import type { Converted, PartFile } from './part-file.js';

/** What identifies the bytes of a part. */
type PartToRead = Pick<PublishedPart, 'key' | 'rows' | 'bytes' | 'rawBytes' | 'sha256'>;

/** Columns of a part, and how its cells are written. */
export type PartLayout = Pick<PartFile, 'columns' | 'csv'>;

interface PartToConvert extends EngineScope {
  readonly part: PartToRead;
  readonly layout: PartLayout;
  /** Where the file goes, given the types of its columns and the version of DuckDB. */
  readonly fileOf: (types: readonly ColumnType[], writer: string) => FilePlace;
  readonly signal: AbortSignal;
  readonly codec: TableSettings['codec'];
}

interface FilePlace {
  /** Relative to the table. */
  readonly path: string;
  readonly key: ObjectKey;
}

interface ConvertedPart extends Converted, Pick<FilePlace, 'path'> {
  readonly file: WrittenObject;
}

/**
 * Converts a part of a snapshot to a Parquet file in the store.
 *
 * @throws ConfigurationError if DuckDB is missing; DamagedError if the part does not match its manifest; TableError if it can never be
 * converted; EngineError if the temporary folder cannot be used or the process dies, so that a later attempt can succeed
 */
export async function convertPart(store: ObjectStore, input: PartToConvert): Promise<ConvertedPart> {
  const { part, layout, fileOf, codec, signal } = input;
  return useEngine(input, async (engine) => {
    const file = await fetchPart(store, engine, { part, layout, signal });
    const to = join(engine.folder, 'file.parquet');
    const { writer, ...converted } = await ofPart(part.key, engine.ask('convert', { part: file, to, codec }));
    if (converted.rows !== part.rows)
      throw damagedObject(
        part.key,
        `it has ${converted.rows} rows instead of the ${part.rows} of its manifest`,
      );
    const { path, key } = fileOf(converted.types, writer);
    return { ...converted, path, file: await upload(store, to, key, signal) };
  });
}

/** Number of values, by column, that do not fit the type that the configuration sets. @throws as `convertPart` */
export async function countUnfitInPart(
  store: ObjectStore,
  input: Pick<PartToConvert, 'part' | 'layout' | 'signal' | 'tempFolder'>,
): Promise<readonly number[]> {
  return useEngine(input, async (engine) => {
    const file = await fetchPart(store, engine, input);
    return ofPart(input.part.key, engine.ask('countUnfit', file));
  });
}

async function ofPart<T>(key: ObjectKey, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof EngineError) || !(error.isOfFile || error.kind === 'memory')) throw error;
    if (error.kind === 'rows')
      throw damagedObject(key, 'it does not have the columns of its manifest', error);
    throw new TableError(`${key} cannot be converted: ${error.message}.`, { cause: error });
  }
}

/**
 * Fetches a part into the private folder. DuckDB reads half of a gzip file as half of its rows, and ignores the checksum, so the bytes
 * are compared with the manifest.
 */
async function fetchPart(
  store: ObjectStore,
  { folder }: EngineUse,
  { part, layout, signal }: Pick<PartToConvert, 'part' | 'layout' | 'signal'>,
): Promise<PartFile> {
  const path = join(folder, 'part');
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of store.stream(part.key, { signal })) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  if (bytes !== part.bytes)
    throw damagedObject(part.key, `it has ${bytes} bytes instead of the ${part.bytes} of its manifest`);
  if (hash.digest('hex') !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 is not the one in its manifest');
  const { rows, rawBytes } = part;
  return { ...layout, path, rows, rawBytes };
}

async function upload(
  store: ObjectStore,
  path: string,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<WrittenObject> {
  const writer = store.openWriter(key, { signal });
  try {
    for await (const chunk of createReadStream(path)) await writer.write(chunk as Buffer);
    return await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
