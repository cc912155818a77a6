import type { ByteString, ObjectKey } from '../../src/core/brands.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { stagingFolder } from '../../src/lake/layout.js';
import { adaptRows, type Written } from '../../src/lake/merge/adapt.js';
import { READ_AHEAD } from '../../src/lake/merge/heap.js';
import { deepestOverlap } from '../../src/lake/merge/keys.js';
import { type KeyRange, MergeSource } from '../../src/lake/merge/source.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { decodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { BlockReader } from '../../src/lake/part/reader.js';
import { profileFingerprint } from '../../src/lake/profile.js';
import { withRunId } from '../../src/lake/row.js';
import type { RunFile } from '../../src/lake/run-file.js';
import type { Column } from '../../src/lake/schema.js';
import type { StagedChunk } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** What all sources of a task may read ahead together, in bytes: it bounds the memory of a merge. */
const READ_AHEAD_BYTES = 16 * 1024 * 1024;
const LONGEST_READ_BYTES = 1024 * 1024;
const OPENED_AT_ONCE = 16;

export interface SourcesInput {
  readonly store: ObjectStore;
  readonly run: RunFile;
  /** Today's data columns; `null` leaves rows as they were written, for looking at them only. */
  readonly columns: readonly Column[] | null;
  readonly range: KeyRange;
  /** A part of the snapshot before. */
  readonly before: ObjectKey | null;
  /** Staged chunks, oldest first. */
  readonly chunks: readonly Pick<StagedChunk, 'key' | 'first' | 'last' | 'reapplied'>[];
  readonly signal: AbortSignal;
}

/** Opens what a merge reads: the part before at age 0, then the chunks by age. */
export async function openSources(input: SourcesInput): Promise<MergeSource[]> {
  const { store, run, columns, range, before, chunks, signal } = input;
  const { resource } = run;
  const fingerprint = profileFingerprint(resource);
  // Each holds two batches: those that are merged at a time, the snapshot, and those that are read ahead behind them.
  const held = 2 * (deepestOverlap(chunks) + 1 + READ_AHEAD);
  const batchBytes = Math.min(LONGEST_READ_BYTES, READ_AHEAD_BYTES / held);
  const today = { profile: resource, fingerprint };
  const open = async (
    age: number,
    key: ObjectKey,
    written: Pick<Written, 'profile' | 'fingerprint'>,
    reapplied = false,
  ): Promise<MergeSource> => {
    const index = decodeIndex(await store.read(indexKey(key), { signal }));
    const part = { key, blocks: index.blocks, framing: framingOf(written.profile.csv) };
    return new MergeSource({
      age,
      blocks: index.blocks,
      reader: new BlockReader(store, part, batchBytes, signal),
      keyColumns: resource.key.length,
      delimiter: written.profile.csv.delimiter,
      range,
      reapplied,
      adapt:
        columns === null
          ? null
          : inTurn(
              adaptRows({ ...written, columns: index.columns }, { columns, profile: resource, fingerprint }),
              isForeign(key) && !reapplied ? (row) => withRunId(row, run.runId) : null,
            ),
    });
  };
  // Pages that a failed run had read were staged under its name.
  const own = `${stagingFolder(run.resource.name, run.runId)}/`;
  const isForeign = (key: ObjectKey): boolean => key !== before && !key.startsWith(own);
  const fetched = await inParallel(
    chunks.map(({ key, reapplied }, at) => ({ key, reapplied, age: at + 1 })),
    OPENED_AT_ONCE,
    ({ key, age, reapplied }) => open(age, key, today, reapplied === true),
  );
  if (before === null || run.before === null) return fetched;
  return [await open(0, before, run.before), ...fetched];
}

type Adapt = (row: ByteString) => ByteString;

function inTurn(first: Adapt | null, second: Adapt | null): Adapt | null {
  if (first === null || second === null) return first ?? second;
  return (row) => second(first(row));
}
