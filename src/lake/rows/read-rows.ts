import { type ByteString, fromByteString } from '../../core/brands.js';
import { readPartRows } from '../part/rows.js';
import type { Manifest } from '../published/manifest.js';
import type { ObjectStore } from '../store/index.js';
import { readRow } from './csv.js';

/**
 * Reads the rows of a published tree in key order, as CSV text with the LF and without headers. Parts are streamed, so a
 * caller that stops early reads little more than it uses. The rows are not verified.
 *
 * @throws DamagedError if a part cannot be decompressed; StoreError if it cannot be read
 */
export async function* rowTexts(store: ObjectStore, manifest: Manifest): AsyncGenerator<ByteString> {
  const { compression } = manifest.csv;
  for (const part of manifest.parts) {
    for await (const rows of readPartRows(store, part, { compression })) yield* rows;
  }
}

/**
 * As `rowTexts`, but parsed: cells in header order, `null` for an empty unquoted field (docs/explanation/semantics.md#values).
 *
 * @example
 * const { manifest } = await readPublished(store, 'tasks');
 * for await (const cells of readRows(store, manifest)) console.log(cells);
 */
export async function* readRows(store: ObjectStore, manifest: Manifest): AsyncGenerator<(string | null)[]> {
  for await (const row of rowTexts(store, manifest)) {
    yield readRow(row, manifest.csv.delimiter).map((cell) => (cell === null ? null : fromByteString(cell)));
  }
}
