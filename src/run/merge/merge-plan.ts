import { z } from 'zod';
import type { ObjectKey } from '../../core/brands.js';
import type { Block } from '../../lake/documents/block-index.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { StagedChunk } from '../../lake/documents/stage-file.js';
import type { Column } from '../../lake/rows/data-columns.js';
import type { SortKey } from '../../lake/rows/row.js';
import { CHUNK, documentKind } from '../staged-documents.js';
import { byKey, type KeyRange, overlaps, upperBound } from './key-ranges.js';

/** One key range, and whether its part is copied or merged. */
export type MergeTask =
  | { readonly kind: 'carry'; readonly number: number; readonly part: PublishedPart }
  | {
      readonly kind: 'merge';
      /** Number of its first part. The task may use `parts` consecutive numbers. */
      readonly number: number;
      readonly parts: number;
      /** Target size of each part, in bytes before compression. */
      readonly partBytes: number;
      readonly range: KeyRange;
      readonly before: PublishedPart | null;
      /** Positions in `MergePlan.chunks` of the chunks that overlap the range, oldest first. */
      readonly chunks: readonly number[];
    };

export interface MergePlan {
  /** The new snapshot's data columns. */
  readonly columns: readonly Column[];
  readonly chunks: readonly StagedChunk[];
  /** Number of the chain of pages that the last reading of the list used. */
  readonly lastChain: number;
  /** Chains of pages that show changes, if the run compares them with the whole list; absent: it does not. */
  readonly increments?: readonly number[];
  /** Whether an audit has read only a part of the list. Absent: no. */
  readonly isCut?: true;
  readonly tasks: readonly MergeTask[];
  /** Positions in `tasks`. Each batch is the work of one activity, in this order. */
  readonly batches: readonly (readonly number[])[];
  /** Key of the document that lists the records whose deletion is confirmed; `null` for none. */
  readonly gone: ObjectKey | null;
  /** Whether the base snapshot has rows. If not, the change log has the same content as the snapshot. */
  readonly hasBefore: boolean;
}

const RANGE = z.looseObject({ from: z.string().nullable(), to: z.string().nullable() });
const PART = z.looseObject({ key: z.string(), rows: z.int(), bytes: z.int(), rawBytes: z.int() });

export const PLAN = documentKind<MergePlan>('plan', {
  ...{ columns: z.array(z.looseObject({ name: z.string() })), chunks: z.array(CHUNK), lastChain: z.int() },
  tasks: z.array(
    z.discriminatedUnion('kind', [
      z.looseObject({ kind: z.literal('carry'), number: z.int(), part: PART }),
      z.looseObject({
        ...{ kind: z.literal('merge'), number: z.int(), parts: z.int(), partBytes: z.number(), range: RANGE },
        ...{ before: PART.nullable(), chunks: z.array(z.int()) },
      }),
    ]),
  ),
  ...{ batches: z.array(z.array(z.int()).min(1)), gone: z.string().nullable(), hasBefore: z.boolean() },
});

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
