import type { MergePlanned, PlanMergeInput } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import { schemaChangeTexts } from '../../core/schema-changes.js';
import type { Block } from '../../lake/documents/block-index.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import { mustSeeRows, type RollbackTarget, type RunFile } from '../../lake/documents/run-file.js';
import type { Stage, StagedChunk } from '../../lake/documents/stage-file.js';
import { readChunkIndex } from '../../lake/part/read-index.js';
import { BlockReader } from '../../lake/part/reader.js';
import { type Column, ColumnSet, schemaChanges, withText } from '../../lake/rows/data-columns.js';
import { maskedColumns, profileFingerprint } from '../../lake/rows/profile.js';
import { rowKeys, type SortKey } from '../../lake/rows/row.js';
import { columnsWithMasks, shapeOf } from '../../lake/rows/shapes.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { finalFailure } from '../failures.js';
import { checkDeleteLimit } from '../run-failures.js';
import { KEYS } from '../staged-documents.js';
import { type RunAt, readRunWith, readStages } from '../staging.js';
import { type MergePlan, PLAN, planTasks } from './merge-plan.js';
import { framingOfRead } from './sources.js';

const READS_AT_ONCE = 16;
/** Number of schema changes that a message lists. */
const CHANGES_NAMED = 20;

/** Divides the merge of the staged chunks with the base snapshot into tasks (see `planTasks`). */
export async function planMerge({ staging }: RunAt, input: PlanMergeInput): Promise<MergePlanned> {
  const { store } = staging;
  const [run, stages] = await readRunWith(staging, readStages(staging, input.stage));
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
  const lastChain = stages.findLast(({ kind }) => kind !== 'catch-up')!.chain;
  const repeated = chunks
    .filter(({ chain }) => chain === lastChain)
    .reduce((sum, chunk) => sum + (chunk.repeated ?? 0), 0);
  const { before } = run;
  const gone = input.gone === null ? [] : await staging.read(KEYS, input.gone);
  guard(run, columns, gone.length, input);
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
    gone: input.gone,
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
  const key = await staging.write(PLAN, `plan-${input.pass}-${staging.attempt}.json`, plan);
  return { plan: key, batches: plan.batches.length, repeated };
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
function guard(
  run: RunFile,
  columns: readonly Column[],
  deletes: number,
  { allowDeletes, expected }: Pick<PlanMergeInput, 'allowDeletes' | 'expected'>,
): void {
  const { resource, before, audit } = run;
  if (before === null || audit !== undefined) return;
  checkDeleteLimit(run, deletes, { allowDeletes, expected });
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
