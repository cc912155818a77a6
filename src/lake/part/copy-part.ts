import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { damagedObject } from '../damaged-error.js';
import type { PublishedPart } from '../documents/manifest.js';
import { type Column, headerRow } from '../rows/data-columns.js';
import { payloadAt, rowKey, type SortKey } from '../rows/row.js';
import { sha256InStore } from '../store/digest.js';
import type { ObjectStore } from '../store/index.js';
import { framingOf } from './framing.js';
import { readPartRows } from './part-rows.js';
import { PartWriter } from './part-writer.js';
import { PartSeries } from './series.js';

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

/** Writes the rows of a part once more, in blocks of the usual size. Equal rows give equal bytes. */
export async function copyPart(
  store: ObjectStore,
  part: PublishedPart,
  { key: fields, csv, columns }: PartLayout,
  { to, index = 'beside', keeps = () => true, signal }: CopyOptions,
): Promise<PublishedPart> {
  const { compression, delimiter } = csv;
  const header = headerRow(columns, csv);
  const options = { framing: framingOf(csv), header, columns: columns.length, index, signal };
  const series = new PartSeries(store, { ...options, partKey: () => to, maxParts: 1, partBytes: 0 });
  try {
    for await (const rows of readPartRows(store, part, { compression, signal })) {
      for (const row of rows) {
        const key = rowKey(row, payloadAt(row), fields.length, delimiter);
        if (keeps(key)) series.add(key, row);
        if (series.mustFlush) await series.flush();
      }
    }
    const [copy] = await series.finish();
    return copy ?? (await new PartWriter(store, to, options).finish());
  } catch (error) {
    await series.abort();
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
  if ((await sha256InStore(store, part.key, options.signal)) !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
  const copy = await copyPart(store, part, layout, options);
  return part.checks === undefined ? copy : { ...copy, checks: part.checks };
}
