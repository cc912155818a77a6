import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { ExtractInput } from '../../src/core/contract/index.js';
import { DAY_MS } from '../../src/core/duration.js';
import { toChunk } from '../../src/lake/chunk/write.js';
import { type ChunkGroup, groupByChain, overlapTooMuch } from '../../src/lake/merge/longer-runs.js';
import { mergeRows } from '../../src/lake/merge/merge.js';
import { framingOf, framingOfChunk, plainFraming } from '../../src/lake/part/framing.js';
import { PartSeries } from '../../src/lake/part/series.js';
import { headerRow } from '../../src/lake/rows/header.js';
import { newerRows } from '../../src/lake/rows/newer.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import type { Stage, StagedChunk } from '../../src/lake/run/stage.js';
import { toUtcSeconds } from '../../src/lake/run/watermark.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { openSources } from '../merge/sources.js';
import { ActivityAge } from '../shared/activity-context.js';
import { stagedKey, writeDocument } from '../shared/documents.js';
import { finalStageKey } from './position.js';

/** Size of the chunks that form a longer run. A merge of one key range opens one or two of them. */
const PIECE_BYTES = 14 * 1024 * 1024;
/** Larger than usual, because the plan of the run's merge keeps the index of all blocks in memory. */
const BLOCK_BYTES = 256 * 1024;
/** The merge has no other merge of its run beside it, so it reads twice as far ahead. */
const READ_AHEAD_BYTES = 32 * 1024 * 1024;

/** Share of `giveUpAfter` after which a call ends with the chunks that it has. */
const SHARE_OF_TIME = 0.9;

interface LongerRunsOptions {
  readonly store: ObjectStore;
  readonly run: RunFile;
  readonly input: ExtractInput;
  readonly attempt: number;
}

type MergeOptions = Pick<LongerRunsOptions, 'store' | 'run' | 'input'> & { readonly signal: AbortSignal };

/**
 * Merges the chunks of one call into longer runs if the run has staged many chunks that overlap. Otherwise each task of the
 * run's merge would open all of them (docs/explanation/architecture.md#longer-runs). If the time of the activity is too
 * short, the chunks stay as they are, which changes no result.
 *
 * @param earlier the chunks of earlier calls
 * @returns the new stage and where it is stored; `null` if the chunks stay as they are
 */
export async function withLongerRuns(
  { store, run, input, attempt }: LongerRunsOptions,
  stage: Stage,
  earlier: readonly StagedChunk[],
): Promise<{ readonly key: ObjectKey; readonly stage: Stage } | null> {
  if (!overlapTooMuch([...earlier, ...stage.chunks])) return null;
  const left = SHARE_OF_TIME * run.giveUpAfterMs - new ActivityAge().ms;
  const late = AbortSignal.timeout(Math.min(Math.max(0, Math.floor(left)), DAY_MS));
  const signal = AbortSignal.any([Context.current().cancellationSignal, late]);
  // Each open chunk listens to it.
  setMaxListeners(0, signal);
  try {
    const merged = await mergeChains({ store, run, input, signal }, stage);
    const key = finalStageKey(input, attempt);
    await writeDocument(store, key, merged);
    return { key, stage: merged };
  } catch (error) {
    if (late.aborted) return null;
    throw error;
  }
}

/** Merges the chunks of each chain of pages that overlap. Returns the stage with the longer runs in their place. */
export async function mergeChains(options: MergeOptions, stage: Stage): Promise<Stage> {
  let { duplicates, shifted } = stage;
  const chunks: StagedChunk[] = [];
  for (const group of groupByChain(stage.chunks)) {
    const merged = group.overlaps ? await mergeGroup(options, group, stage) : group;
    chunks.push(...merged.chunks);
    const dropped = rowsOf(group) - rowsOf(merged);
    duplicates += dropped;
    // As within one chunk: a key that the current chain repeats shows that the list shifted.
    shifted ||= dropped > 0 && chunks.at(-1)!.chain === stage.chain;
  }
  return { ...stage, chunks, duplicates, shifted };
}

/** Merges the chunks of a group by key; the newest row wins. The result is one sorted run in several chunks. */
async function mergeGroup(
  { store, run, input, signal }: MergeOptions,
  group: ChunkGroup,
  { columns }: Stage,
): Promise<Pick<ChunkGroup, 'chunks'>> {
  const { csv, updatedAtField } = run.resource;
  const isPlain = group.chunks.every(({ key }) => framingOfChunk(key) === plainFraming);
  const framing = isPlain ? plainFraming : framingOf(csv);
  const token = randomBytes(4).toString('hex');
  const output = new PartSeries(store, {
    framing,
    header: headerRow(columns, csv),
    columns: columns.length,
    signal,
    partKey: (n) => stagedKey(input, `run-${input.call}-${token}-${n}${framing.extension}`),
    maxParts: Number.POSITIVE_INFINITY,
    partBytes: PIECE_BYTES,
    blockBytes: BLOCK_BYTES,
  });
  const newer = columns.findIndex(({ name }) => name === updatedAtField);
  try {
    const range = { from: null, to: null };
    const sources = await openSources({
      ...{ store, run, columns, range, before: null, chunks: group.chunks, signal },
      readAheadBytes: READ_AHEAD_BYTES,
    });
    await mergeRows({
      sources,
      snapshot: output,
      changes: null,
      gone: new Set(),
      deletes: 'keep',
      runId: run.runId,
      deletedAt: toUtcSeconds(run.startedAt),
      delimiter: csv.delimiter,
      isNewer: newer === -1 ? null : newerRows(newer, csv.delimiter),
      onProgress: () => signal.throwIfAborted(),
    });
    const parts = await output.finish();
    const { chain } = group.chunks[0]!;
    const known = group.chunks.reduce((sum, { repeated = 0 }) => sum + repeated, 0);
    const repeated = known + rowsOf(group) - rowsOf({ chunks: parts });
    return {
      chunks: parts.map((part, at) => ({
        ...toChunk(part, columns.length),
        ...(chain === undefined ? {} : { chain }),
        repeated: at === 0 ? repeated : 0,
      })),
    };
  } catch (error) {
    await output.abort();
    throw error;
  }
}

function rowsOf({ chunks }: { readonly chunks: readonly Pick<StagedChunk, 'rows'>[] }): number {
  return chunks.reduce((sum, { rows }) => sum + rows, 0);
}
