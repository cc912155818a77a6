import type { PhaseEnded } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import { schemaChangeTexts } from '../../core/schema-changes.js';
import type { Block } from '../../lake/documents/block-index.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import { mustSeeRows, type RollbackTarget, type RunFile } from '../../lake/documents/run-file.js';
import { endOfList, type Stage, type StagedChunk } from '../../lake/documents/stage-file.js';
import { readChunkIndex } from '../../lake/part/read-index.js';
import { BlockReader } from '../../lake/part/reader.js';
import { type Column, ColumnSet, schemaChanges, withText } from '../../lake/rows/data-columns.js';
import { maskedColumns, profileFingerprint } from '../../lake/rows/profile.js';
import { rowKeys, type SortKey } from '../../lake/rows/row.js';
import { columnsWithMasks, shapeOf } from '../../lake/rows/shapes.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { checkDeleteLimit } from '../delete-rules.js';
import { finalFailure } from '../failures.js';
import { byKey, type KeyRange, overlaps, upperBound } from '../key-ranges.js';
import { type Journal, type MergePlan, type MergeTask, toNextPhase } from '../run-journal.js';
import { type RunAt, readStages } from '../staging.js';
import { hasShifted, reread } from './rereads.js';
import { framingOfRead } from './sources.js';

const READS_AT_ONCE = 16;
/** Number of schema changes that a message lists. */
const CHANGES_NAMED = 20;

/** Divides the merge of the staged chunks with the base snapshot into tasks (see `planTasks`). */
export async function planMerge({ staging }: RunAt): Promise<PhaseEnded> {
  const { store } = staging;
  const journal = await staging.journal();
  const { run, gone, deletes } = journal;
  const stages = await readStages(staging, journal.stage);
  // If the list visibly shifted, a merge now would be wasted.
  if (hasShifted(stages) && journal.rereads === 0) return toNextPhase(await staging.decide(reread(journal)));
  const chunks = stages.flatMap((stage) => stage.chunks);
  const blocks = await inParallel(
    chunks,
    READS_AT_ONCE,
    async (chunk) => (await readChunkIndex(store, chunk)).blocks,
  );
  const columnSet = new ColumnSet(run.resource.key, stages.at(-1)!.columns);
  // Masked values stay masked in rows that no later run reads again, so the note outlives the mask.
  const known = columnSet.toColumns();
  const columns = withText(known, [
    ...maskedColumns(run.resource, columnSet.names),
    ...leftMasks(run, known),
  ]);
  const lastChain = endOfList(stages).chain;
  const repeated = chunks
    .filter(({ chain }) => chain === lastChain)
    .reduce((sum, chunk) => sum + (chunk.repeated ?? 0), 0);
  const { before } = run;
  guard(run, columns, gone.length, deletes);
  const today = profileFingerprint(run.resource);
  // The target of a rollback has the head's header and settings, so that equal parts have equal rows.
  const isTargetLike = (target: RollbackTarget): boolean =>
    target.fingerprint === before?.fingerprint && target.columns.length === before.columns.length;
  const sameRows =
    before !== null && before.fingerprint === today && (run.rollback === null || isTargetLike(run.rollback));
  const plan: MergePlan = {
    columns,
    chunks,
    lastChain,
    ...comparedIncrements(run, stages),
    ...(stages.at(-1)!.doubts.some(({ kind }) => kind === 'cut') && { isCut: true }),
    repeated,
    ...(await planTasks({
      before: before?.parts ?? [],
      chunks,
      blocks,
      gone,
      ...(run.rollback === null ? {} : { equal: equalParts(before?.parts ?? [], chunks) }),
      partBytes: run.resource.csv.partBytes,
      rewrite: sameRows && before.columns.length === columns.length && !mustSeeRows(run) ? 'touched' : 'all',
      keysOf: (chunk, block) => keysOf(store, run, chunks[chunk]!, blocks[chunk]!, block),
    })),
  };
  const ahead = journal.ahead.slice(plan.batches.length === 0 ? 2 : 1);
  return toNextPhase(await staging.decide({ plan, results: null, ahead }));
}

/**
 * The chains of pages that show changes, if they show all of them since the checkpoint: a row that differs and is not in them is one
 * that increments miss. Nothing is compared if a list may lack records.
 */
function comparedIncrements(
  { comparesIncrements, checkpoint, audit }: RunFile,
  stages: readonly Stage[],
): Pick<MergePlan, 'increments'> {
  if (comparesIncrements !== true || checkpoint === null) return {};
  const isWhole = ({ done, updatedSince }: Stage): boolean =>
    done && updatedSince !== null && updatedSince <= checkpoint;
  if (audit !== undefined) {
    // What changed while it read must be known, too, so the last reading of changes counts.
    const changes = stages.filter(({ updatedSince, isById }) => updatedSince !== null && isById !== true);
    const last = stages.findLast(({ kind, isById }) => kind === 'catch-up' && isById !== true);
    return last !== undefined && isWhole(last) ? { increments: chainsOf(changes) } : {};
  }
  const changes = stages.filter(({ kind }) => kind === 'catch-up');
  if (stages.at(-1)!.doubts.length > 0 || !changes.some(isWhole)) return {};
  return { increments: chainsOf(changes) };
}

function chainsOf(stages: readonly Stage[]): number[] {
  return [...new Set(stages.flatMap(({ chunks }) => chunks.map(({ chain }) => chain ?? -1)))];
}

/** The parts that a rollback's target and the head have in common. */
function equalParts(before: readonly PublishedPart[], chunks: readonly StagedChunk[]): ReadonlySet<string> {
  const target = new Set(chunks.map(({ sha256 }) => sha256));
  return new Set(before.map(({ sha256 }) => sha256).filter((hash) => target.has(hash)));
}

/** Columns where rows of the base snapshot hold masks, whatever today's settings say of the column. */
function leftMasks({ before, resource }: RunFile, columns: readonly Column[]): string[] {
  if (before === null) return [];
  return columnsWithMasks(before.shapes, shapeOf(resource, null), { columns, key: resource.key });
}

/** Stops a run before it writes parts, if it has too many deletes or if a frozen schema has changed. */
function guard(run: RunFile, columns: readonly Column[], gone: number, deletes: Journal['deletes']): void {
  const { resource, before, audit } = run;
  if (before === null || audit !== undefined) return;
  checkDeleteLimit(run, gone, deletes);
  const changes = schemaChanges(run.columns, columns);
  if (resource.contract === 'freeze' && changes.length > 0) {
    // The failure is stored in the history, so its size must not depend on the number of columns.
    const more = changes.length - CHANGES_NAMED;
    const first = changes.slice(0, CHANGES_NAMED);
    const texts = schemaChangeTexts({ first, count: first.length });
    const named = [...texts, ...(more > 0 ? [`and ${more} more`] : [])];
    throw finalFailure(
      'BrokenPromise',
      `${resource.name}: the schema is frozen (\`contract: freeze\`) but has changed: ${named.join('; ')}. Nothing was ` +
        'published. Exclude the columns, or set `contract: evolve`.',
      { resource: resource.name },
    );
  }
}

async function keysOf(
  store: ObjectStore,
  run: RunFile,
  chunk: StagedChunk,
  blocks: readonly Block[],
  at: number,
): Promise<SortKey[]> {
  const { key: keys, csv } = run.resource;
  const reader = new BlockReader(store, { key: chunk.key, blocks, framing: framingOfRead(run, chunk.key) });
  return rowKeys(await reader.rows(at), keys.length, csv.delimiter, 'all');
}

export interface PlanInput {
  readonly before: readonly PublishedPart[];
  readonly chunks: readonly StagedChunk[];
  /** Block index of each chunk, in the order of `chunks`. */
  readonly blocks: readonly (readonly Block[])[];
  readonly partBytes: number;
  /** `all`: every part is rewritten, because the header or the profile changed. `touched`: only parts with changed rows. */
  readonly rewrite: 'all' | 'touched';
  /** Keys of records whose deletion is confirmed. */
  readonly gone: readonly SortKey[];
  /**
   * Of a rollback, whose chunks are all the parts of a complete snapshot: those that the base snapshot has, too. Base parts
   * without such a chunk are merged even if no chunk has rows in their range. Absent: the chunks are what was fetched.
   */
  readonly equal?: ReadonlySet<string>;
  /** Reads the keys of one block. Called only if the block index does not show which ranges the rows are in. */
  readonly keysOf: (chunk: number, block: number) => Promise<readonly SortKey[]>;
}

/** The most merge activities of one run. It bounds the workflow history. */
const MAX_MERGE_BATCHES = 64;
/** Number of server-side copies in one activity. */
const COPIES_PER_BATCH = 200;

/**
 * Splits a merge into key ranges: the ranges of the base snapshot's parts, or quantiles of the fetched keys if there is
 * none. Ids are mostly ordered by time, so the changes of one day are in few ranges, and all other parts are copied.
 */
export async function planTasks(
  input: PlanInput,
): Promise<Pick<MergePlan, 'tasks' | 'batches' | 'hasBefore'>> {
  const parts = input.before.filter((part) => part.rows > 0);
  const bounds = parts.length > 0 ? parts.slice(1).map((part) => part.first!) : quantiles(input);
  const weights = await fetchedBytes(input, bounds);
  const tasks: MergeTask[] = [];
  let number = 0;
  for (let at = 0; at <= bounds.length; at++) {
    const before = parts[at] ?? null;
    const weight = weights[at]!;
    const isEqual = input.equal === undefined || (before !== null && input.equal.has(before.sha256));
    if (before !== null && weight === null && isEqual && input.rewrite === 'touched') {
      tasks.push({ kind: 'carry', number: number++, part: before });
      continue;
    }
    if (before === null && weight === null) continue;
    const bytes = (before?.rawBytes ?? 0) + (weight ?? 0);
    const count = Math.max(1, Math.round(bytes / input.partBytes));
    const range = { from: bounds[at - 1] ?? null, to: bounds[at] ?? null };
    const chunks = weight === null && input.equal === undefined ? [] : chunksIn(input.chunks, range);
    tasks.push({
      kind: 'merge',
      number,
      parts: count,
      partBytes: Math.ceil(bytes / count),
      range,
      before,
      chunks,
    });
    number += count;
  }
  return { tasks, batches: batchesOf(tasks), hasBefore: parts.length > 0 };
}

function chunksIn(chunks: readonly StagedChunk[], range: KeyRange): number[] {
  return chunks.flatMap((chunk, at) => (overlaps(chunk, range) ? [at] : []));
}

/** Boundaries that give parts of about the target size, chosen from the first keys of all blocks. */
function quantiles({ blocks, partBytes }: PlanInput): SortKey[] {
  const all = blocks.flat().sort((a, b) => byKey(a.first, b.first));
  const total = all.reduce((sum, block) => sum + block.rawBytes, 0);
  const target = total / Math.max(1, Math.round(total / partBytes));
  const bounds: SortKey[] = [];
  let bytes = 0;
  for (const block of all) {
    if (bytes >= target * (bounds.length + 1) && block.first !== bounds.at(-1) && bytes > 0)
      bounds.push(block.first);
    bytes += block.rawBytes;
  }
  return bounds;
}

/** For each range, the bytes of fetched rows in it; `null` if the range has neither fetched nor deleted rows. */
async function fetchedBytes(
  { blocks, chunks, gone, equal, keysOf }: PlanInput,
  bounds: readonly SortKey[],
): Promise<(number | null)[]> {
  const weights: (number | null)[] = new Array(bounds.length + 1).fill(null);
  const add = (range: number, bytes: number): void => {
    weights[range] = (weights[range] ?? 0) + bytes;
  };
  for (const key of gone) add(upperBound(bounds, key), 0);
  for (const [chunk, list] of blocks.entries()) {
    // Its rows are all in the range of the equal part, and add nothing to it.
    if (equal?.has(chunks[chunk]!.sha256 ?? '')) continue;
    for (const [at, block] of list.entries()) {
      const from = upperBound(bounds, block.first);
      const to = upperBound(bounds, block.last);
      const ranges = to - from + 1;
      if (ranges === 1) {
        add(from, block.rawBytes);
      } else if (weights.slice(from, to + 1).every((weight) => weight !== null)) {
        // All of these ranges are merged in any case. Only their sizes are open, and an estimate is enough.
        for (let range = from; range <= to; range++) add(range, block.rawBytes / ranges);
      } else {
        const rowBytes = block.rawBytes / block.rows;
        for (const key of await keysOf(chunk, at)) add(upperBound(bounds, key), rowBytes);
      }
    }
  }
  return weights;
}

function batchesOf(tasks: readonly MergeTask[]): number[][] {
  const positions = (kind: MergeTask['kind']): number[] =>
    tasks.flatMap((task, at) => (task.kind === kind ? [at] : []));
  const merges = positions('merge');
  const size = Math.max(1, Math.ceil(merges.length / MAX_MERGE_BATCHES));
  return [...slices(merges, size), ...slices(positions('carry'), COPIES_PER_BATCH)];
}

function slices(items: readonly number[], size: number): number[][] {
  const out: number[][] = [];
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size));
  return out;
}
