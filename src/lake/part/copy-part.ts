import { createHash } from 'node:crypto';
import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { damagedObject } from '../damaged-error.js';
import { type PublishedPart, toPublished } from '../documents/manifest.js';
import { type Column, headerRow } from '../rows/data-columns.js';
import { payloadAt, rowKey, type SortKey } from '../rows/row.js';
import type { ObjectStore } from '../store/index.js';
import { framingOf } from './framing.js';
import { readPartRows } from './part-rows.js';
import { BLOCK_BYTES, PartWriter } from './part-writer.js';

/** How the rows of a part are written, as in the manifest that lists it. */
export interface PartLayout {
  readonly key: readonly string[];
  readonly csv: Pick<CsvSettings, 'compression' | 'delimiter' | 'lineBreaks'>;
  readonly columns: readonly Column[];
}

interface CopyOptions {
  readonly to: ObjectKey;
  /** Default: `beside`. */
  readonly index?: 'beside' | 'none';
  /** Whether the copy has the row with this key. Default: all rows. */
  readonly keeps?: (key: SortKey) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Writes the rows of a part once more, in blocks of `BLOCK_BYTES`. Equal rows give equal bytes. */
export async function copyPart(
  store: ObjectStore,
  part: PublishedPart,
  { key: fields, csv, columns }: PartLayout,
  { to, index = 'beside', keeps = () => true, signal }: CopyOptions,
): Promise<PublishedPart> {
  const writer = new PartWriter(store, to, {
    ...{ framing: framingOf(csv), header: headerRow(columns, csv), columns: columns.length, index, signal },
  });
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
  try {
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal })) {
      for (const row of rows) {
        const key = rowKey(row, payloadAt(row), fields.length, csv.delimiter);
        if (!keeps(key)) continue;
        texts.push(row);
        bytes += row.length;
        first ??= key;
        last = key;
        if (bytes >= BLOCK_BYTES) await flush();
      }
    }
    await flush();
    return toPublished(await writer.finish());
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/**
 * As `copyPart`, for a part whose block index is missing or damaged: the copy has a new one. The part itself is first compared
 * with its manifest.
 *
 * @throws DamagedError if the part does not match its manifest
 */
export async function copyIntactPart(
  store: ObjectStore,
  part: PublishedPart,
  layout: PartLayout,
  options: Omit<CopyOptions, 'index' | 'keeps'>,
): Promise<PublishedPart> {
  const hash = createHash('sha256');
  for await (const chunk of store.stream(part.key, { signal: options.signal })) hash.update(chunk);
  if (hash.digest('hex') !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
  const copy = await copyPart(store, part, layout, options);
  return part.checks === undefined ? copy : { ...copy, checks: part.checks };
}
