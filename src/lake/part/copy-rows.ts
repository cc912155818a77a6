import type { ByteString } from '../../core/brands.js';
import type { SortKey } from '../rows/row.js';
import { payloadAt, rowKey } from '../rows/row.js';
import { BLOCK_BYTES, type PartWriter } from './writer.js';

interface CopyOptions {
  readonly keyColumns: number;
  /** Delimiter of the input rows. */
  readonly delimiter: string;
  /** Converts a row; `null` leaves it out. */
  readonly each: (row: ByteString, key: SortKey) => ByteString | null;
}

/** Writes sorted rows to a part, in blocks of `BLOCK_BYTES`. */
export async function copyRows(
  rows: AsyncIterable<readonly ByteString[]>,
  writer: PartWriter,
  { keyColumns, delimiter, each }: CopyOptions,
): Promise<void> {
  let texts: ByteString[] = [];
  let bytes = 0;
  let first: SortKey | null = null;
  let last: SortKey | null = null;
  const flush = async (): Promise<void> => {
    if (first === null || last === null) return;
    await writer.append({ text: texts.join('') as ByteString, rows: texts.length, first, last });
    texts = [];
    bytes = 0;
    first = null;
  };
  for await (const piece of rows) {
    for (const row of piece) {
      const key = rowKey(row, payloadAt(row), keyColumns, delimiter);
      const made = each(row, key);
      if (made === null) continue;
      texts.push(made);
      bytes += made.length;
      first ??= key;
      last = key;
      if (bytes >= BLOCK_BYTES) await flush();
    }
  }
  await flush();
}
