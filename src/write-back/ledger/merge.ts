import type { WritableResource } from '../../core/contract/write-back.js';
import { inParallel } from '../../core/in-parallel.js';
import { damagedObject } from '../../lake/damaged-error.js';
import { crc32 } from '../../lake/store/crc32.js';
import { ObjectNotFoundError, type ObjectStore } from '../../lake/store/index.js';
import { type LedgerEntry, listLedger, planMerge, rowsKey } from './entries.js';
import { checksum, encodeHeader, readRowsHeader, recordBytes, type Section } from './rows-object.js';

/** Headers that are read at the same time. */
const WIDTH = 16;

/**
 * Merges objects of the ledger if there are many, and removes those that others have replaced. It changes no count, and two
 * merges at the same time do no harm.
 *
 * @throws StoreError, DamagedError: the ledger is as it was
 */
export async function tidyLedger(store: ObjectStore, resource: WritableResource): Promise<void> {
  const { entries, replaced } = await listLedger(store, resource);
  const merged = planMerge(entries) ?? [];
  try {
    if (merged.length > 0) await merge(store, resource, merged);
  } catch (error) {
    // Another merge has removed an object.
    if (!(error instanceof ObjectNotFoundError)) throw error;
    return;
  }
  // If removals are denied, the objects stay, and nothing reads them.
  await store.remove([...replaced, ...merged.map(({ key }) => key)]);
}

async function merge(
  store: ObjectStore,
  resource: WritableResource,
  entries: readonly LedgerEntry[],
): Promise<void> {
  const [first, last] = [entries[0]!, entries.at(-1)!];
  const heads = await inParallel(entries, WIDTH, ({ key }) => readRowsHeader(store, key));
  const sections = heads.flatMap((head, at) => kept(entries[at]!, head.sections));
  const key = rowsKey(resource, last.last, last.last - first.first + 1);
  const writer = store.openWriter(key, { contentType: 'application/octet-stream' });
  try {
    const header = encodeHeader({ layout: 1, sections });
    let crc = crc32(header);
    await writer.write(header);
    for (const [at, entry] of entries.entries()) {
      const { begin, sections: all } = heads[at]!;
      const wanted = sizeOf(kept(entry, all));
      let copied = 0;
      let read = crc32(await store.read(entry.key, { range: { offset: 0, length: begin } }));
      const from = { offset: begin, length: Math.max(1, sizeOf(all) + 4) };
      let rest = Buffer.alloc(0);
      for await (const chunk of store.stream(entry.key, { range: from })) {
        const bytes = Buffer.concat([rest, chunk]);
        const body = bytes.subarray(0, Math.max(0, bytes.length - 4));
        rest = Buffer.from(bytes.subarray(body.length));
        read = crc32(body, read);
        const some = body.subarray(0, Math.min(body.length, wanted - copied));
        if (some.length === 0) continue;
        copied += some.length;
        crc = crc32(some, crc);
        await writer.write(some);
      }
      if (copied !== wanted || rest.length !== 4 || rest.readUInt32LE(0) !== read)
        throw damagedObject(entry.key, 'its checksum does not match');
    }
    await writer.write(checksum(crc));
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** The sections of an object that count. They come first. */
function kept(entry: LedgerEntry, sections: readonly Section[]): readonly Section[] {
  return sections.filter(({ number }) => number <= entry.last);
}

function sizeOf(sections: readonly Section[]): number {
  return sections.reduce(
    (sum, { counts, isKeyed }) => sum + counts.reduce((rows, some) => rows + some, 0) * recordBytes(isKeyed),
    0,
  );
}
