import { readPartRows } from '../../src/lake/part/rows.js';
import {
  type Manifest,
  type PublishedPart,
  type RolledBack,
  readManifest,
} from '../../src/lake/published/manifest.js';
import { payloadAt, rowKey, type SortKey } from '../../src/lake/rows/row.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** A published tree, as far as its keys can be read. */
type Tree = Pick<Manifest, 'parts' | 'key' | 'csv'>;

/**
 * Counts the records that a rollback dropped (`deletes: drop`) and that no run has listed since: they are in its change log
 * and not in the snapshot. Both are sorted by key, and only those parts of the snapshot are read that can have such a key.
 *
 * @returns 0 if the change log is not in the lake any more
 */
export async function countStillDropped(
  store: ObjectStore,
  { changes }: RolledBack,
  snapshot: Tree,
  signal: AbortSignal,
): Promise<number> {
  const log = await readManifest(store, changes);
  if (log === null || log.counts.dropped === 0) return 0;
  const changed = keysOf(store, log, log.parts, signal);
  let next = await changed.next();
  let dropped = 0;
  const dropUntil = async (key: SortKey): Promise<void> => {
    for (; !next.done && next.value < key; next = await changed.next()) dropped++;
  };
  for (const part of snapshot.parts) {
    if (part.first === null || part.last === null) continue;
    await dropUntil(part.first);
    if (next.done || next.value > part.last) continue;
    for await (const key of keysOf(store, snapshot, [part], signal)) {
      await dropUntil(key);
      if (!next.done && next.value === key) next = await changed.next();
      if (next.done) break;
    }
  }
  for (; !next.done; next = await changed.next()) dropped++;
  return dropped;
}

async function* keysOf(
  store: ObjectStore,
  { key, csv }: Tree,
  parts: readonly PublishedPart[],
  signal: AbortSignal,
): AsyncGenerator<SortKey> {
  for (const part of parts)
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal }))
      for (const row of rows) yield rowKey(row, payloadAt(row), key.length, csv.delimiter);
}
