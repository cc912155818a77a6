import { join } from 'node:path';
import type { ObjectKey } from '../../core/brands.js';
import type { TableSettings } from '../../core/settings.js';
import { DamagedError, damagedObject } from '../../lake/damaged-error.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import { ObjectNotFoundError, type ObjectStore, type WrittenObject } from '../../lake/store/index.js';
import { TableError } from '../errors.js';
import type { ColumnType } from '../rules/column-type.js';
import { type EngineUse, useEngine } from './engine.js';
import { EngineError } from './engine-failure.js';
import type { EngineScope } from './engine-scope.js';
import { fetchObject, uploadFile } from './object-file.js';
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
    return { ...converted, path, file: await uploadFile(store, to, key, signal) };
  });
}

export interface PartToUpdate extends PartToConvert {
  /** The file of the part before. */
  readonly before: Pick<WrittenObject, 'key' | 'sha256'>;
  /** The part of the change log that has all rows that differ. */
  readonly changes: PartToRead;
  /** Names of the columns of the key. */
  readonly keyColumns: readonly string[];
  /** Names of the columns where rows with the same key differ; `null`: not known. */
  readonly changedColumns: readonly string[] | null;
}

/**
 * Writes the Parquet file of a part from that of the part before, which takes a third of the time of a conversion.
 *
 * @returns `null` if that is not possible, so that the part must be converted
 * @throws EngineError as `convertPart`
 */
export async function updatePart(
  store: ObjectStore,
  { part, before, changes, keyColumns, changedColumns, layout, fileOf, codec, ...scope }: PartToUpdate,
): Promise<ConvertedPart | null> {
  const { signal } = scope;
  try {
    return await useEngine(scope, async (engine) => {
      const from = join(engine.folder, 'before.parquet');
      if ((await fetchObject(store, before.key, from, signal)).sha256 !== before.sha256) return null;
      const update = {
        ...{ before: from, key: keyColumns, changedColumns },
        changes: await fetchPart(store, engine, { part: changes, layout, signal }),
        part: { rows: part.rows, rawBytes: part.rawBytes, columns: layout.columns },
      };
      const to = join(engine.folder, 'file.parquet');
      const updated = await engine.ask('update', { update, to, codec });
      if (updated === null) return null;
      const { writer, ...converted } = updated;
      const { path, key } = fileOf(converted.types, `${writer} ${before.sha256} ${changes.sha256}`);
      return { ...converted, path, file: await uploadFile(store, to, key, signal) };
    });
  } catch (error) {
    // The part itself can still be read.
    const isOfFiles =
      error instanceof EngineError
        ? error.isOfFile || error.kind === 'memory'
        : error instanceof DamagedError || error instanceof ObjectNotFoundError;
    if (isOfFiles) return null;
    throw error;
  }
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
  const { bytes, sha256 } = await fetchObject(store, part.key, path, signal);
  if (bytes !== part.bytes)
    throw damagedObject(part.key, `it has ${bytes} bytes instead of the ${part.bytes} of its manifest`);
  if (sha256 !== part.sha256) throw damagedObject(part.key, 'its SHA-256 is not the one in its manifest');
  const { rows, rawBytes } = part;
  return { ...layout, path, rows, rawBytes };
}
