import { inParallel } from '../../src/core/in-parallel.js';
import { writeRows } from '../../src/lake/csv.js';
import { dateOf, inFolder, nameOf, partName, runFolder, type Tree } from '../../src/lake/layout.js';
import type { PublishedPart } from '../../src/lake/manifest.js';
import { inRange } from '../../src/lake/merge/keys.js';
import { mergeRows } from '../../src/lake/merge/merge.js';
import type { MergePlan, MergeTask, TaskResult } from '../../src/lake/merge/plan.js';
import { newerRows } from '../../src/lake/newer.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { PartSeries } from '../../src/lake/part/series.js';
import type { WrittenPart } from '../../src/lake/part/writer.js';
import type { SortKey } from '../../src/lake/row.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { headerCells } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { toUtcSeconds } from '../../src/lake/watermark.js';
import { openSources } from './sources.js';

export interface TaskInput {
  readonly store: ObjectStore;
  readonly run: RunFile;
  readonly plan: MergePlan;
  readonly task: Extract<MergeTask, { kind: 'merge' }>;
  /** Keys of records that are proven gone, of all tasks. */
  readonly gone: readonly SortKey[];
  /** Keeps the objects of this attempt apart from another's. */
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Merges one range of keys into parts of the new snapshot and of the change log. */
export async function mergeTask(input: TaskInput): Promise<Omit<TaskResult, 'task'>> {
  const { store, run, plan } = input;
  const { resource } = run;
  const { delimiter } = resource.csv;
  const sources = await openSources({
    store,
    run,
    columns: plan.columns,
    range: input.task.range,
    before: input.task.before?.key ?? null,
    chunks: input.task.chunks.map((at) => plan.chunks[at]!),
    signal: input.signal,
  });
  const snapshot = series(input, 'snapshots');
  const changes = plan.hasBefore ? series(input, 'changes') : null;
  const newer = plan.columns.findIndex((column) => column.name === resource.updatedAtField);
  try {
    const counts = await mergeRows({
      sources,
      snapshot,
      changes,
      gone: new Set(input.gone.filter((key) => inRange(key, input.task.range))),
      deletes: resource.deletes,
      runId: run.runId,
      deletedAt: toUtcSeconds(run.startedAt),
      delimiter,
      isNewer: newer === -1 ? null : newerRows(newer, delimiter),
      onProgress: () => input.signal.throwIfAborted(),
    });
    const parts = (await snapshot.finish()).map(published);
    const changed =
      changes === null ? await copyParts(store, run, parts) : (await changes.finish()).map(published);
    return { counts, parts, changes: changed };
  } catch (error) {
    await Promise.all([snapshot.abort(), changes?.abort()]);
    throw error;
  }
}

function series({ store, run, plan, task, token, signal }: TaskInput, tree: Tree): PartSeries {
  const framing = framingOf(run.resource.csv);
  const folder = runFolder(run.resource.name, tree, dateOf(run.nominalStart), run.runId);
  return new PartSeries(store, {
    framing,
    header: writeRows([headerCells(plan.columns)], run.resource.csv.delimiter),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
    signal,
    partKey: (n) => inFolder(folder, partName(task.number + n, token, framing.extension)),
    maxParts: task.parts,
    partBytes: task.partBytes,
  });
}

function published({ key, bytes, rawBytes, rows, crc32, sha256, first, last }: WrittenPart): PublishedPart {
  return { key, bytes, rawBytes, rows, crc32, sha256, first, last };
}

/** Where nothing was before, every row is new: the change log is a copy of the snapshot. */
async function copyParts(
  store: ObjectStore,
  run: RunFile,
  parts: readonly PublishedPart[],
): Promise<PublishedPart[]> {
  const folder = runFolder(run.resource.name, 'changes', dateOf(run.nominalStart), run.runId);
  return inParallel(parts, 8, async (part) => {
    const key = inFolder(folder, nameOf(part.key));
    await store.copy(part.key, key);
    return { ...part, key };
  });
}
