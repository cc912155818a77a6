import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { metadataOf, readFooter } from './assemble-file.js';
import { useEngine } from './engine.js';
import type { EngineScope } from './engine-scope.js';

/** Writes records as a Parquet file. @param types of the columns in DuckDB, by name */
export function encodeRecords(
  records: readonly object[],
  types: Readonly<Record<string, string>>,
  scope: EngineScope,
): Promise<Buffer> {
  return useEngine(scope, async ({ folder, ask }) => {
    const [from, to] = [join(folder, 'records.json'), join(folder, 'records.parquet')];
    await writeFile(from, records.map((record) => `${JSON.stringify(record)}\n`).join(''), { mode: 0o600 });
    await ask('writeRecords', { from, to, types });
    return readFile(to);
  });
}

/**
 * The records of a Parquet file, with the fields of those columns that it has; a field without a value is null.
 *
 * @throws EngineError, whose `isOfFile` says whether the bytes are not such a file
 */
export function decodeRecords(
  body: Buffer,
  columns: readonly string[],
  scope: EngineScope,
): Promise<unknown[]> {
  return useEngine(scope, async ({ folder, ask }) => {
    const path = join(folder, 'records.parquet');
    await writeFile(path, body, { mode: 0o600 });
    const records = await ask('readRecords', { path, columns });
    return records.map((record) => parseStored(record));
  });
}

/** The metadata in the footer of a Parquet file in the store. @param size of the file in bytes @throws RangeError if it is another file */
export async function readMetadata(
  store: ObjectStore,
  key: ObjectKey,
  { size, signal }: { readonly size: number; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, string>>> {
  const read = (offset: number, length: number): Promise<Buffer> =>
    store.read(key, { range: { offset, length }, signal });
  return metadataOf(await readFooter(size, read));
}
