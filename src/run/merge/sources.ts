import type { ByteString, ObjectKey } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { PartIndex } from '../../lake/documents/block-index.js';
import { nameOf } from '../../lake/documents/lake-layout.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import { mayHaveTombstones, mustSeeRows, type RunFile } from '../../lake/documents/run-file.js';
import type { StagedChunk } from '../../lake/documents/stage-file.js';
import { copyIntactPart } from '../../lake/part/copy-part.js';
import { type Framing, framingOf, framingOfChunk } from '../../lake/part/framing.js';
import { readChunkIndex, readPartIndex } from '../../lake/part/read-index.js';
import { BlockReader, READ_AHEAD, ReadAhead } from '../../lake/part/reader.js';
import type { Column } from '../../lake/rows/data-columns.js';
import { profileFingerprint, type ReadyProfile } from '../../lake/rows/profile.js';
import { withRunId } from '../../lake/rows/row.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { blocksIn, type KeyRange, maxOverlap } from '../key-ranges.js';
import { stagedKey } from '../run-journal.js';
import { adaptRows, type Written } from './earlier-settings.js';
import { MergeSource } from './merge-source.js';

/** Target size of the buffers of all sources of a task, in bytes. A request can exceed its share by a block. */
const BUFFER_BYTES = 16 * 1024 * 1024;
const MAX_READ_BYTES = 1024 * 1024;
const OPENED_AT_ONCE = 16;

interface SourcesInput {
  readonly store: ObjectStore;
  readonly run: RunFile;
  /** The current data columns, and how their cells are written. `null` leaves rows unchanged, for callers that only inspect them. */
  readonly written: { readonly columns: readonly Column[]; readonly profile: ReadyProfile } | null;
  readonly range: KeyRange;
  /** A part of the base snapshot. */
  readonly before: PublishedPart | null;
  /** Staged chunks, oldest first. */
  readonly chunks: readonly Pick<
    StagedChunk,
    'key' | 'first' | 'last' | 'chain' | 'runId' | 'isProof' | 'indexCrc32'
  >[];
  /** The chain of pages of the last reading of the list, if the merge has to detect shifts in it. */
  readonly lastChain?: number;
  /** As in the merge plan. */
  readonly increments?: readonly number[] | undefined;
  /** Default: `BUFFER_BYTES`. */
  readonly bufferBytes?: number;
  readonly signal: AbortSignal;
}

/** Opens the sources of a merge: the part of the base snapshot at age 0, then the chunks by age. */
export async function openSources(input: SourcesInput): Promise<MergeSource[]> {
  const { store, run, range, before, chunks, signal } = input;
  const { resource } = run;
  const fingerprint = profileFingerprint(resource);
  // The overlapping chunks and the base snapshot hold one batch each, in addition to those that are read ahead.
  const overlap = Math.max(1, maxOverlap(chunks));
  const held = overlap + 1 + READ_AHEAD;
  const batchBytes = Math.min(MAX_READ_BYTES, (input.bufferBytes ?? BUFFER_BYTES) / held);
  const readAhead = new ReadAhead();
  const today = { profile: resource, fingerprint, shapes: run.shapes };
  const open = (
    age: number,
    key: ObjectKey,
    index: PartIndex,
    written: Omit<Written, 'columns'>,
    framing: Framing,
    {
      isLast = false,
      mayBeMissed = false,
      isForeign = false,
      chain,
      isProof,
    }: { isLast?: boolean; mayBeMissed?: boolean; isForeign?: boolean } & Pick<
      StagedChunk,
      'chain' | 'isProof'
    > = {},
  ): MergeSource => {
    const part = { key, blocks: blocksIn(index.blocks, range), framing };
    // Overlapping chunks advance at the same rate. First batches of different sizes spread the ends of their batches.
    const firstBytes = age === 0 ? batchBytes : (batchBytes * ((age % overlap) + 1)) / overlap;
    return new MergeSource({
      age,
      reader: new BlockReader(store, part, { batchBytes, firstBytes, readAhead, signal }),
      keyColumns: resource.key.length,
      delimiter: written.profile.csv.delimiter,
      range,
      ...{ isLast, mayBeMissed, chain, isProof },
      adapt:
        input.written === null
          ? null
          : inTurn(
              adaptRows(
                { ...written, columns: index.columns },
                { ...input.written, fingerprint },
                age === 0 ? run.runId : null,
              ) ?? (isCompared(age) ? asItIs : null),
              isForeign ? (row) => withRunId(row, run.runId) : null,
            ),
    });
  };
  // A rollback compares all rows, and a tombstone is no row to copy.
  const isCompared = (age: number): boolean =>
    run.rollback !== null || (age === 0 ? mustSeeRows(run) : mayHaveTombstones(run));
  const fetched = await inParallel(
    chunks.map((chunk, at) => ({ chunk, age: at + 1 })),
    OPENED_AT_ONCE,
    async ({ chunk, age }) => {
      const { key, chain, runId, isProof } = chunk;
      const index = await readChunkIndex(store, chunk, signal);
      const isLast = chain !== undefined && chain === input.lastChain;
      // Rows that a failed run has staged, or an attempt with its own id.
      const isForeign = runId !== undefined && runId !== run.runId;
      return open(age, key, index, run.rollback ?? today, framingOfRead(run, key), {
        ...{ isLast, isForeign },
        mayBeMissed: input.increments !== undefined && !input.increments.includes(chain ?? -1),
        ...(chain === undefined ? {} : { chain }),
        ...(isProof === undefined ? {} : { isProof }),
      });
    },
  );
  const sources = [...(await openBefore()), ...fetched];
  readAhead.fill();
  return sources;

  async function openBefore(): Promise<MergeSource[]> {
    if (before === null || run.before === null) return [];
    const { profile, columns } = run.before;
    const index = await readPartIndex(store, before, signal);
    if (index !== null) return [open(0, before.key, index, run.before, framingOf(profile.csv))];
    const to = stagedKey({ resource: resource.name, runId: run.runId }, `indexed-${nameOf(before.key)}`);
    const copy = await copyIntactPart(store, before, { ...profile, columns }, { to, signal });
    const found = await readChunkIndex(store, { key: to, indexCrc32: copy.indexCrc32! }, signal);
    return [open(0, to, found, run.before, framingOf(profile.csv))];
  }
}

/** The framing of a staged chunk, or of a part of a rollback's target. */
export function framingOfRead({ rollback }: Pick<RunFile, 'rollback'>, key: ObjectKey): Framing {
  return rollback === null ? framingOfChunk(key) : framingOf(rollback.profile.csv);
}

/** Has each row looked at, so that none is copied with its block. */
const asItIs = (row: ByteString): ByteString => row;

type Adapt = (row: ByteString) => ByteString;

function inTurn(first: Adapt | null, second: Adapt | null): Adapt | null {
  if (first === null || second === null) return first ?? second;
  return (row) => second(first(row));
}
