import { inParallel } from '../../src/core/in-parallel.js';
import { planChecks } from '../../src/lake/checks/check-plan.js';
import { type Measuring, measureMerged, TaskMeter } from '../../src/lake/checks/task-meter.js';
import { continuedUniques } from '../../src/lake/checks/uniques.js';
import { inFolder, nameOf, partName, type Tree } from '../../src/lake/documents/lake-layout.js';
import { type PublishedPart, toPublished } from '../../src/lake/documents/manifest.js';
import {
  countsUnlisted,
  countsUnrestored,
  folderIn,
  type RunFile,
  returningFrom,
  syncedAtOfRun,
} from '../../src/lake/documents/run-file.js';
import { inRange } from '../../src/lake/merge/key-ranges.js';
import type { MergePlan, MergeTask } from '../../src/lake/merge/merge-plan.js';
import type { TaskResult } from '../../src/lake/merge/merge-result.js';
import { mergeRows, type Tally } from '../../src/lake/merge/merge-rows.js';
import { type Restorable, restorable } from '../../src/lake/merge/restorable.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { PartSeries } from '../../src/lake/part/series.js';
import { headerRow } from '../../src/lake/rows/data-columns.js';
import { newerByField } from '../../src/lake/rows/newer.js';
import type { SortKey } from '../../src/lake/rows/row.js';
import { toUtcSeconds } from '../../src/lake/run/watermark.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { Staging } from '../shared/staging.js';
import { openSources } from './sources.js';

interface TaskInput {
  readonly staging: Staging;
  readonly run: RunFile;
  readonly plan: MergePlan;
  readonly task: Extract<MergeTask, { kind: 'merge' }>;
  /** Keys of records with a proven delete, of all tasks. */
  readonly gone: readonly SortKey[];
  /** Makes the object names of this attempt unique. */
  readonly token: string;
  readonly signal: AbortSignal;
  /** The merge adds its counts to it. */
  readonly signs: Tally;
  /** Called with the rows of the task so far. */
  readonly onRows?: (rows: number) => void;
}

/** Merges one range of keys into parts of the new snapshot and of the change log. */
export async function mergeTask(input: TaskInput): Promise<Omit<TaskResult, 'task'>> {
  const { staging, run, plan } = input;
  const { store } = staging;
  const { resource } = run;
  const { delimiter } = resource.csv;
  const sources = await openSources({
    store,
    run,
    columns: plan.columns,
    range: input.task.range,
    before: input.task.before,
    chunks: input.task.chunks.map((at) => plan.chunks[at]!),
    lastChain: plan.lastChain,
    signal: input.signal,
  });
  const snapshot = series(input, 'snapshots');
  const changes = plan.hasBefore ? series(input, 'changes') : null;
  const measuring = measuringOf(staging, run, plan, input);
  const meter = measuring === null ? null : new TaskMeter(measuring);
  const names = plan.columns.map(({ name }) => name);
  try {
    const counts = await mergeRows({
      sources,
      snapshot,
      changes,
      gone: new Set(input.gone.filter((key) => inRange(key, input.task.range))),
      deletes: resource.deletes,
      rollback: run.rollback === null ? null : { syncedAt: syncedAtOfRun(run) },
      runId: run.runId,
      deletedAt: toUtcSeconds(run.startedAt),
      delimiter,
      isNewer: newerByField(resource.updatedAtField, names, resource.csv),
      restorable: judgeOf(run, plan),
      countsUnlisted: countsUnlisted(run),
      observer: meter,
      rolledBackAt: new Set(returningFrom(run)?.rollbacks.map(({ syncedAt }) => syncedAt)),
      signs: input.signs,
      onProgress: ({ rows }) => {
        input.onRows?.(rows);
        input.signal.throwIfAborted();
      },
    });
    const parts = (await snapshot.finish()).map(toPublished);
    const changed =
      changes === null ? await copyParts(store, run, parts) : (await changes.finish()).map(toPublished);
    if (measuring === null || meter === null) return { counts, parts, changes: changed };
    const { before } = input.task;
    const measured = await measureMerged(store, measuring, meter, { before, parts });
    return { counts, changes: changed, ...measured };
  } catch (error) {
    await Promise.all([snapshot.abort(), changes?.abort()]);
    throw error;
  }
}

/** Rows are counted only in a run that looks at all of them, and not in a rollback, which leaves it to the full read after it. */
function judgeOf(run: RunFile, { columns }: MergePlan): Restorable | null {
  const { before, resource } = run;
  const judge = before === null ? null : restorable(before.shapes, resource, columns);
  return judge !== null && !countsUnrestored(run) ? { ...judge, isLost: () => false } : judge;
}

function series({ staging: { store }, run, plan, task, token, signal }: TaskInput, tree: Tree): PartSeries {
  const framing = framingOf(run.resource.csv);
  const folder = folderIn(run, tree);
  return new PartSeries(store, {
    framing,
    header: headerRow(plan.columns, run.resource.csv),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
    signal,
    partKey: (n) => inFolder(folder, partName(task.number + n, token, framing.extension)),
    maxParts: task.parts,
    partBytes: task.partBytes,
  });
}

/** Without a base snapshot every row is an insert, so the change log is a copy of the snapshot. */
async function copyParts(
  store: ObjectStore,
  run: RunFile,
  parts: readonly PublishedPart[],
): Promise<PublishedPart[]> {
  const folder = folderIn(run, 'changes');
  return inParallel(parts, 8, async (part) => {
    const key = inFolder(folder, nameOf(part.key));
    await store.copy(part.key, key, part.bytes);
    // A change log has no block index.
    const { indexCrc32: _, ...copy } = part;
    return { ...copy, key };
  });
}

/** What a task of a merge measures for the checks of the resource; `null` if it has none. */
export function measuringOf(
  staging: Staging,
  run: RunFile,
  plan: MergePlan,
  { task, token, signal }: { readonly task: MergeTask; readonly token: string; readonly signal: AbortSignal },
): Measuring | null {
  const { resource, before } = run;
  const checks = planChecks(resource);
  if (checks === null) return null;
  return {
    plan: checks,
    form: { names: plan.columns.map(({ name }) => name), csv: resource.csv },
    continued: new Set(Object.keys(continuedUniques(checks, before))),
    keyOf: (name) => staging.key(`hashes-${task.number}-${token}-${name}.bin`),
    signal,
  };
}
