import { type ByteString, fromByteString } from '../../core/brands.js';
import { readPartRows } from '../part/rows.js';
import type { Manifest } from '../published/manifest.js';
import type { ObjectStore } from '../store/index.js';
import { readRow } from './csv.js';
import { cellDecoder } from './escaping.js';

/**
 * Reads the rows of a published tree in key order, as CSV text with the LF and without headers. Cells are as stored, with
 * the escapes of `manifest.csv`. Parts are streamed, so a
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
 * As `rowTexts`, but as values: the service's literal text in the order of the header, without the escapes of
 * `csv.lineBreaks` and `csv.escapeFormulas`; `null` for an empty unquoted field (docs/explanation/guarantees.md#values).
 *
 * @example
 * const { manifest } = await readPublished(store, 'tasks');
 * for await (const cells of readRows(store, manifest)) console.log(cells);
 */
export async function* readRows(store: ObjectStore, manifest: Manifest): AsyncGenerator<(string | null)[]> {
  const decode = cellDecoder(manifest.csv);
  for await (const row of rowTexts(store, manifest)) {
    yield readRow(row, manifest.csv.delimiter).map((cell) => {
      if (cell === null) return null;
      return fromByteString(decode === null ? cell : decode(cell));
    });
  }
}
