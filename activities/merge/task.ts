import type { ObjectKey } from '../../src/core/brands.js';
import { writeRows } from '../../src/lake/csv.js';
import { dateOf, inFolder, nameOf, partName, runFolder, type Tree } from '../../src/lake/layout.js';
import type { PublishedPart } from '../../src/lake/manifest.js';
import { adaptRows, type Written } from '../../src/lake/merge/adapt.js';
import { mergeRows } from '../../src/lake/merge/merge.js';
import type { MergePlan, MergeTask, TaskResult } from '../../src/lake/merge/plan.js';
import { MergeSource } from '../../src/lake/merge/source.js';
import { newerRows } from '../../src/lake/newer.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { decodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { BlockReader } from '../../src/lake/part/reader.js';
import { PartSeries } from '../../src/lake/part/series.js';
import type { WrittenPart } from '../../src/lake/part/writer.js';
import { profileFingerprint } from '../../src/lake/profile.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { headerCells } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { toUtcSeconds } from '../../src/lake/watermark.js';
import { inParallel } from '../parallel.js';

/** What all sources of a task may read ahead together, in bytes: it bounds the memory of a merge. */
const READ_AHEAD_BYTES = 16 * 1024 * 1024;
const LONGEST_READ_BYTES = 2 * 1024 * 1024;

export interface TaskInput {
  readonly store: ObjectStore;
  readonly run: RunFile;
  readonly plan: MergePlan;
  readonly task: Extract<MergeTask, { kind: 'merge' }>;
  /** Keeps the objects of this attempt apart from another's. */
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Merges one range of keys into parts of the new snapshot and of the change log. */
export async function mergeTask(input: TaskInput): Promise<Omit<TaskResult, 'task'>> {
  const { store, run, plan } = input;
  const { resource } = run;
  const { delimiter } = resource.csv;
  const sources = await openSources(input);
  const snapshot = series(input, 'snapshots');
  const changes = plan.hasBefore ? series(input, 'changes') : null;
  const newer = plan.columns.findIndex((column) => column.name === resource.updatedAtField);
  try {
    const counts = await mergeRows({
      sources,
      snapshot,
      changes,
      gone: new Set(),
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

async function openSources({ store, run, plan, task, signal }: TaskInput): Promise<MergeSource[]> {
  const { resource } = run;
  const today = { columns: plan.columns, profile: resource, fingerprint: profileFingerprint(resource) };
  const count = task.chunks.length + (task.before === null ? 0 : 1);
  const batchBytes = Math.min(LONGEST_READ_BYTES, READ_AHEAD_BYTES / (2 * Math.max(count, 1)));
  const open = async (
    age: number,
    key: ObjectKey,
    compression: 'gzip' | 'none',
    written: Omit<Written, 'columns'>,
  ) => {
    const { blocks, columns } = decodeIndex(await store.read(indexKey(key), { signal }));
    return new MergeSource({
      age,
      blocks,
      reader: new BlockReader(
        store,
        { key, blocks, framing: framingOf({ compression }) },
        batchBytes,
        signal,
      ),
      keyColumns: resource.key.length,
      delimiter: written.delimiter,
      range: task.range,
      adapt: adaptRows({ ...written, columns }, today),
    });
  };
  const chunks = await inParallel(task.chunks, 16, (at) =>
    open(at + 1, plan.chunks[at]!.key, resource.csv.compression, {
      delimiter: resource.csv.delimiter,
      fingerprint: today.fingerprint,
    }),
  );
  if (task.before === null || run.before === null) return chunks;
  return [await open(0, task.before.key, run.before.compression, run.before), ...chunks];
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
