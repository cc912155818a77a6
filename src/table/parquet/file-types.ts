import type { ObjectKey } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { ColumnType } from '../rules/column-type.js';
import { parquetLibrary } from './library.js';
import { TYPES_KEY, UNFIT_KEY } from './part-converter.js';

/** What the footer of a data file says of its columns, in the order of the part. */
export interface FileTypes {
  readonly types: readonly ColumnType[];
  /** Number of values that do not fit; `null` for a column whose type the configuration did not set. */
  readonly unfit: readonly (number | null)[];
}

/** The types of the columns of a data file that this connector wrote, from its footer; `null` for another file. */
export async function readFileTypes(
  store: ObjectStore,
  { key, bytes }: { readonly key: ObjectKey; readonly bytes: number },
  signal: AbortSignal,
): Promise<FileTypes | null> {
  const { reader } = await parquetLibrary();
  const metadata = await reader.parquetMetadataAsync({
    byteLength: bytes,
    slice: async (start, end = bytes) => {
      const piece = await store.read(key, { range: { offset: start, length: end - start }, signal });
      return piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.byteLength) as ArrayBuffer;
    },
  });
  const found = new Map(metadata.key_value_metadata?.map(({ key: name, value }) => [name, value]));
  const [types, unfit] = [found.get(TYPES_KEY), found.get(UNFIT_KEY)];
  if (types === undefined || unfit === undefined) return null;
  return { types: parseStored(types) as ColumnType[], unfit: parseStored(unfit) as (number | null)[] };
}
