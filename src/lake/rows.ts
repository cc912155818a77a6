import { type ByteString, fromByteString } from '../core/brands.js';
import { readRow } from './csv.js';
import type { Manifest } from './manifest.js';
import { readPartRows } from './part/rows.js';
import type { ObjectStore } from './store/index.js';

/**
 * The rows of a published tree in the order of their keys, each as it lies in the lake, with its LF; headers are left
 * out. Parts are streamed: who stops asking has read little more than what was asked for. Nothing is verified.
 *
 * @throws DamagedError when a part cannot be unpacked; StoreError when it cannot be read
 */
export async function* rowTexts(store: ObjectStore, manifest: Manifest): AsyncGenerator<ByteString> {
  const { compression } = manifest.csv;
  for (const part of manifest.parts) {
    for await (const rows of readPartRows(store, part, { compression })) yield* rows;
  }
}

/**
 * As `rowTexts`, taken apart: cells in the order of the header, `null` where the field is empty and unquoted
 * (DESIGN 3.8).
 */
export async function* readRows(store: ObjectStore, manifest: Manifest): AsyncGenerator<(string | null)[]> {
  for await (const row of rowTexts(store, manifest)) {
    yield readRow(row, manifest.csv.delimiter).map((cell) => (cell === null ? null : fromByteString(cell)));
  }
}
