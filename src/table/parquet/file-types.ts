import type { ObjectKey } from '../../core/brands.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { ColumnType } from '../rules/column-type.js';
import { parquetLibrary } from './library.js';
import { TYPES_KEY } from './part-converter.js';

/** The types of the columns of a data file that this connector wrote, from its footer; `null` for another file. */
export async function readFileTypes(
  store: ObjectStore,
  { key, bytes }: { readonly key: ObjectKey; readonly bytes: number },
  signal: AbortSignal,
): Promise<readonly ColumnType[] | null> {
  const { reader } = await parquetLibrary();
  const metadata = await reader.parquetMetadataAsync({
    byteLength: bytes,
    slice: async (start, end = bytes) => {
      const piece = await store.read(key, { range: { offset: start, length: end - start }, signal });
      return piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.byteLength) as ArrayBuffer;
    },
  });
  const found = metadata.key_value_metadata?.find((entry) => entry.key === TYPES_KEY)?.value;
  return found === undefined ? null : (JSON.parse(found) as ColumnType[]);
}
