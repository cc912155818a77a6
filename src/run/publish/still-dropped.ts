import type { RolledBack } from '../../lake/documents/document-schemas.js';
import { type Manifest, type PublishedPart, readManifest } from '../../lake/documents/manifest.js';
import { readPartRows } from '../../lake/part/part-rows.js';
import { payloadAt, rowKey, type SortKey } from '../../lake/rows/row.js';
import type { ObjectStore } from '../../lake/store/index.js';

/** A published tree, as far as its keys can be read. */
type PublishedRows = Pick<Manifest, 'parts' | 'key' | 'csv'>;

/**
 * Counts the records that rollbacks dropped (`deletes: drop`) and that no run has listed since: they are in a rollback's
 * change log and not in the snapshot. All are sorted by key, and only those parts of the snapshot are read that can have such
 * a key.
 *
 * @returns without the records of change logs that are not in the lake any more
 */
export async function countStillDropped(
  store: ObjectStore,
  { rollbacks }: RolledBack,
  snapshot: PublishedRows,
  signal: AbortSignal,
): Promise<number> {
  const logs: AsyncGenerator<SortKey>[] = [];
  for (const { changes } of rollbacks) {
    const log = await readManifest(store, changes);
    if (log !== null && log.counts.dropped !== 0) logs.push(keysOf(store, log, log.parts, signal));
  }
  try {
    const changed = inOrder(logs);
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
  } finally {
    for (const log of logs) await log.return(undefined);
  }
}

/** The keys of several sorted lists in order, each once. */
async function* inOrder(lists: readonly AsyncGenerator<SortKey>[]): AsyncGenerator<SortKey> {
  const heads: (SortKey | null)[] = [];
  const advance = async (at: number): Promise<void> => {
    const { value, done } = await lists[at]!.next();
    heads[at] = done === true ? null : value;
  };
  for (const at of lists.keys()) await advance(at);
  for (;;) {
    let least: SortKey | null = null;
    for (const key of heads) if (key !== null && (least === null || key < least)) least = key;
    if (least === null) return;
    yield least;
    for (const [at, key] of heads.entries()) if (key === least) await advance(at);
  }
}

async function* keysOf(
  store: ObjectStore,
  { key, csv }: PublishedRows,
  parts: readonly PublishedPart[],
  signal: AbortSignal,
): AsyncGenerator<SortKey> {
  for (const part of parts)
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal }))
      for (const row of rows) yield rowKey(row, payloadAt(row), key.length, csv.delimiter);
}
