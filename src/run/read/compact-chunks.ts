import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import type { EpochMs } from '../../core/brands.js';
import { MINUTE_MS } from '../../core/duration.js';
import { WorktrackError } from '../../core/errors.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { toChunk } from '../../lake/chunk/write-chunk.js';
import { rowsOf } from '../../lake/documents/manifest.js';
import { mayHaveTombstones, type WritingRun } from '../../lake/documents/run-file.js';
import type { Stage, StagedChunk } from '../../lake/documents/stage-file.js';
import { framingOf, framingOfChunk, plainFraming } from '../../lake/part/framing.js';
import { PartSeries } from '../../lake/part/series.js';
import { headerRow } from '../../lake/rows/data-columns.js';
import { versionRules } from '../../lake/rows/newer.js';
import { SHARE_OF_TIME } from '../activity-context.js';
import { nextSlice, type Slice } from '../key-ranges.js';
import { mergeRows } from '../merge/merge-rows.js';
import { openSources } from '../merge/sources.js';
import { STAGE } from '../staged-documents.js';
import { readStages, type Staging } from '../staging.js';
import { LONGER_SEQUENCE } from './position.js';
import type { StoredStage } from './read-stage.js';

/** A merged chunk is staged in pieces of this size, so that a merge of one key range opens only a few of them. */
const PIECE_BYTES = 14 * 1024 * 1024;
/** Larger than usual, because the plan of the run's merge keeps the index of all blocks in memory. */
const BLOCK_BYTES = 128 * 1024;
/** No other merge of the run takes place at the same time, so this one has buffers of twice the size. */
const BUFFER_BYTES = 32 * 1024 * 1024;
/** A call begins no further merge after this time. The next call continues. */
const MAX_MERGING_MS = 20 * MINUTE_MS;
interface LongerRunsOptions {
  readonly staging: Staging;
  readonly run: WritingRun;
  /** Temporal's clock. */
  readonly clock: () => EpochMs;
  /** Whether the worker shuts down. */
  readonly draining: () => boolean;
}

/**
 * Merges chunks into larger ones after a reading of the list that has staged many chunks that overlap. Otherwise each task
 * of the run's merge would open all of them (docs/explanation/how-it-works.md#compaction). Each merge ends with a stage
 * document, where a later attempt or call continues. If the time of the activity ends, or the store refuses to store
 * the runs, the chunks stay as they are, which changes no result.
 *
 * @param at the end of the reading
 * @param earlier the chunks of earlier calls
 * @returns where the call ends, and whether everything is merged that should be
 */
export async function withLongerRuns(
  options: LongerRunsOptions,
  at: StoredStage,
  earlier: readonly StagedChunk[],
): Promise<StoredStage & { readonly complete: boolean }> {
  // Most lists end here, without a request.
  if (nextSlice([...earlier, ...at.stage.chunks], []) === null) return { ...at, complete: true };
  const { staging, run, clock, draining } = options;
  // That is work for a run in the lake.
  if (staging.isPrivate) return { ...at, complete: false };
  const stages = await readStages(staging, at.key);
  const others = stages.filter(({ read }) => read !== at.stage.read).flatMap(({ chunks }) => chunks);
  let end = at;
  let stage = wholeReading(at.stage, stages);
  const begunAt = clock();
  const ageMs = begunAt - Context.current().info.scheduledTimestampMs;
  // Without time left, the chunks stay as they are.
  const left = SHARE_OF_TIME * run.giveUpAfterMs - ageMs;
  const late = AbortSignal.timeout(Math.min(Math.max(0, Math.floor(left)), 2 * MAX_MERGING_MS));
  const stop = AbortSignal.any([Context.current().cancellationSignal, late]);
  for (let merged = 0; ; merged++) {
    const slice = nextSlice(stage.chunks, others);
    if (slice === null) return { ...end, complete: true };
    if (draining() || clock() - begunAt > MAX_MERGING_MS) return { ...end, complete: false };
    const next = await mergeSlice({ staging, run, stop, draining }, stage, slice).catch(unlessOptional);
    if (next === null) return { ...end, complete: !draining() };
    stage = next;
    const name = staging.own('stage', LONGER_SEQUENCE + merged);
    end = { key: await staging.write(STAGE, name, stage), stage };
  }

  function unlessOptional(error: unknown): null {
    const { cancellationSignal, info } = Context.current();
    if (cancellationSignal.aborted) throw error;
    if (!late.aborted && !draining()) {
      if (!(error instanceof WorktrackError) || error.retryable) throw error;
      const resource = run.resource.name;
      Context.current().log.warn('chunks were not merged', { resource, attempt: info.attempt, error });
    }
    return null;
  }
}

/** One stage in place of all stages of its reading. */
function wholeReading(last: Stage, stages: readonly Stage[]): Stage {
  const own = stages.filter(({ read }) => read === last.read);
  const { previous } = own[0]!;
  return { ...last, previous, seen: [], chunks: own.flatMap(({ chunks }) => chunks) };
}

interface MergeOptions extends Pick<LongerRunsOptions, 'staging' | 'run' | 'draining'> {
  readonly stop: AbortSignal;
}

/**
 * Merges a slice of the chunks by key; the newest row wins. Returns the stage with the merged chunk in their place, and before it,
 * as before any chunk, replaced rows that differ.
 */
export async function mergeSlice(options: MergeOptions, stage: Stage, { from, to }: Slice): Promise<Stage> {
  const before = stage.chunks.slice(from, to);
  const { newest, twins, isRepeated } = await mergeChunks(options, before, stage);
  const dropped = rowsOf(before) - rowsOf(newest) - rowsOf(twins);
  const { chain } = before[0]!;
  const repeated = before.reduce((sum, chunk) => sum + (chunk.repeated ?? 0), dropped);
  const of = { runId: options.run.runId, ...(chain === undefined ? {} : { chain }) };
  const after: StagedChunk[] = [
    ...twins.map((chunk) => ({ ...chunk, ...of })),
    ...newest.map((chunk, at) => ({ ...chunk, ...of, ...(at === 0 ? { repeated } : {}) })),
  ];
  return {
    ...stage,
    chunks: stage.chunks.toSpliced(from, to - from, ...after),
    duplicates: stage.duplicates + dropped,
    // As within one chunk: a key that the current chain repeats shows that the list shifted.
    shifted: stage.shifted || (isRepeated && chain === stage.chain),
  };
}

interface MergedChunks {
  readonly newest: readonly StagedChunk[];
  readonly twins: readonly StagedChunk[];
  /** Whether several rows had one key. */
  readonly isRepeated: boolean;
}

async function mergeChunks(
  { staging, run, stop, draining }: MergeOptions,
  chunks: readonly StagedChunk[],
  { columns }: Stage,
): Promise<MergedChunks> {
  const { store } = staging;
  const { csv } = run.resource;
  const isPlain = chunks.every(({ key }) => framingOfChunk(key) === plainFraming);
  const framing = isPlain ? plainFraming : framingOf(csv);
  const token = randomBytes(4).toString('hex');
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  // Each open chunk listens to it.
  setMaxListeners(0, signal);
  const seriesOf = (what: string): PartSeries =>
    new PartSeries(store, {
      framing,
      header: headerRow(columns, csv),
      columns: columns.length,
      signal,
      partKey: (n) => staging.key(staging.own(what, n, `-${token}${framing.extension}`)),
      maxParts: Number.POSITIVE_INFINITY,
      partBytes: PIECE_BYTES,
      blockBytes: BLOCK_BYTES,
    });
  const outputs = { newest: seriesOf('run'), others: seriesOf('twin'), proof: seriesOf('proof') };
  const names = columns.map(({ name }) => name);
  try {
    const range = { from: null, to: null };
    const sources = await openSources({
      ...{ store, run, range, before: null, chunks, signal },
      written: { columns, profile: run.resource },
      bufferBytes: BUFFER_BYTES,
    });
    const counts = await mergeRows({
      sources,
      snapshot: outputs.newest,
      twins: outputs,
      changes: null,
      gone: new Set(),
      deletes: 'keep',
      rollback: null,
      runId: run.runId,
      deletedAt: toUtcSeconds(run.startedAt),
      ...versionRules(run.resource, names),
      tombstones: mayHaveTombstones(run) ? 'staged' : undefined,
      onProgress: () => {
        if (draining()) ended.abort();
        signal.throwIfAborted();
      },
    });
    const finish = async (series: PartSeries, more: Partial<StagedChunk>): Promise<StagedChunk[]> =>
      (await series.finish()).map((part) => ({ ...toChunk(part, columns.length), ...more }));
    const newest = await finish(outputs.newest, {});
    const others = await finish(outputs.others, { isTwin: true });
    const proof = await finish(outputs.proof, { isTwin: true, isProof: true });
    return { newest, twins: [...others, ...proof], isRepeated: counts.duplicates > 0 };
  } catch (error) {
    await Promise.all(Object.values(outputs).map((series) => series.abort()));
    throw error;
  } finally {
    // Ends reads ahead that nothing waits for.
    ended.abort();
  }
}
