import type { ObjectKey, RunId } from '../../src/core/brands.js';
import type { CleanUpInput, RunRef } from '../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS } from '../../src/core/duration.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { beganAfter, parseRunDate } from '../../src/core/run-id.js';
import { type ChainPart, RunChain, readChain } from '../../src/lake/published/chain.js';
import {
  dateOf,
  folderOf,
  inFolder,
  MANIFEST,
  runFolder,
  type Tree,
} from '../../src/lake/published/layout.js';
import type { Pointer } from '../../src/lake/published/pointer.js';
import { listDates, listRuns, type RunFolders } from '../../src/lake/published/run-folders.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../src/lake/store/index.js';
import { readRunIfThere } from '../shared/documents.js';
import type { LastRun } from '../shared/published-run.js';
import { removeFolder, removeStrayParts } from '../shared/remove-folders.js';

/** A delayed request arrives within this time: S3 rejects signatures that are older than 15 minutes. */
const MAX_REQUEST_DELAY_MS = HOUR_MS;
const TREES = ['snapshots', 'changes'] as const;
const CONCURRENCY = 8;

/** What the clean-up needs to know about the published run. */
export type EndedRun = Pick<RunFile, 'nominalStart' | 'retention' | 'before'>;

interface CleanUpTask {
  readonly store: ObjectStore;
  readonly input: CleanUpInput;
  readonly run: EndedRun;
  readonly last: LastRun;
  readonly signal: AbortSignal;
}

/** A run's folder in one tree. */
interface Folder {
  readonly tree: Tree;
  readonly runId: RunId;
  readonly key: ObjectKey;
}

/**
 * Removes what unpublished runs wrote (docs/reference/lake.md#runs). The chain of runs from `latest.json`
 * decides whether a run was published. The content of a folder does not: a run whose swap failed has manifests as well.
 *
 * - A run that is known to be unpublished, and a folder without a manifest, are removed.
 * - Any other complete folder that is not on the whole chain is removed.
 * - In the folders of published runs, parts that the manifest does not name are removed.
 *
 * It covers the days since the last complete clean-up, so it also completes clean-ups that failed.
 *
 * @returns the objects that the store refused to remove
 */
export async function removeUnpublished(task: CleanUpTask): Promise<Removal> {
  const { last, signal, input } = task;
  const trees = await listFolders(task);
  const folders = TREES.flatMap((tree) => foldersOf(task, tree, trees[tree]));
  const chain = await readChain(last.pointer, last.chain, {
    wanted: folders.map(({ runId }) => runId),
    since: straysSince(input),
  });
  let reading: Promise<WholeChain> | null = null;
  const whole = () => (reading ??= readWholeChain(task.store, last.pointer, signal));
  const removals = await inParallel(folders, CONCURRENCY, async (folder) => {
    signal.throwIfAborted();
    if (chain.runs.has(folder.runId)) return removeStrays(task, chain, folder);
    return chain.isKnown(folder.runId) ? removeUnpublishedFolder(task, folder, whole) : ALL_REMOVED;
  });
  return addRemovals(...removals);
}

async function listFolders({ store, input, run }: CleanUpTask): Promise<Record<Tree, RunFolders>> {
  const { cleanedUpTo, unpublished, resource, runId, days } = input;
  const since = cleanedUpTo === null ? 0 : Math.min(...[cleanedUpTo, ...unpublished].map(parseRunDate));
  const ofPast = new Set(days.map((day) => `dt=${day}`));
  const from = `dt=${dateOf(Math.max(0, since - DAY_MS))}`;
  const to = `dt=${dateOf(Math.max(run.nominalStart, parseRunDate(runId)) + DAY_MS)}`;
  const [snapshots, changes] = await inParallel(TREES, TREES.length, async (tree) => {
    const dates = await listDates(store, resource, tree);
    const some = dates.filter((date) => (date >= from && date <= to) || ofPast.has(date));
    return listRuns(store, resource, tree, some);
  });
  return { snapshots: snapshots!, changes: changes! };
}

/** Skips this run, whose strays were removed before it was published, and later runs, which may belong to another mirror. */
function foldersOf({ input: { resource, runId } }: CleanUpTask, tree: Tree, runs: RunFolders): Folder[] {
  return [...runs]
    .filter(([id]) => id !== runId && !beganAfter(id, runId))
    .map(([id, date]) => ({ tree, runId: id, key: runFolder(resource, tree, date, id) }));
}

/**
 * Runs that were published before this time (milliseconds since 1970) have no stray parts: the last complete clean-up
 * removed them, and no request of those runs can arrive any more.
 */
function straysSince({ cleanedUpTo }: CleanUpInput): number {
  return cleanedUpTo === null ? 0 : parseRunDate(cleanedUpTo) - MAX_REQUEST_DELAY_MS;
}

/** Removes stray parts from the folder of a published run: replaced attempts wrote them, or a late request did. */
async function removeStrays(
  { store, input, run, signal }: CleanUpTask,
  chain: ChainPart,
  { tree, runId, key: folder }: Folder,
): Promise<Removal> {
  const { runId: by } = input;
  const publishedAt = chain.runs.get(runId)?.publishedAt ?? Number.POSITIVE_INFINITY;
  if (publishedAt < straysSince(input)) return ALL_REMOVED;
  const isBefore = run.before !== null && folderOf(run.before.manifest) === folder;
  const known = tree === 'changes' ? chain.runs.get(runId)?.manifest : isBefore ? run.before : null;
  return removeStrayParts(store, { folder, parts: known?.parts ?? null, by }, signal);
}

/** All published runs, as far as the chain can be read. */
interface WholeChain {
  readonly runs: ReadonlySet<RunId>;
  /** The run whose change log is lost, so that the runs before it are not known; `null`: there is none. */
  readonly lost: RunId | null;
}

/**
 * Reads the whole chain. `readChain` ends at older ids, and ids do not show the order of runs if a clock was wrong. That is
 * enough to remove what has no manifest, but not a complete folder, which ends the chain if it was published.
 */
async function readWholeChain(
  store: ObjectStore,
  pointer: Pointer,
  signal: AbortSignal,
): Promise<WholeChain> {
  const runs = new Set<RunId>([pointer.runId]);
  let previous: RunId | null = pointer.runId;
  for await (const { runId, manifest } of new RunChain(store, pointer).passing()) {
    signal.throwIfAborted();
    runs.add(runId);
    previous = manifest.previousRunId;
    if (previous !== null) runs.add(previous);
  }
  return { runs, lost: previous };
}

function mayBePublished({ runs, lost }: WholeChain, runId: RunId): boolean {
  return runs.has(runId) || (lost !== null && !beganAfter(runId, lost));
}

async function removeUnpublishedFolder(
  { store, input, signal }: CleanUpTask,
  { runId, key: folder }: Folder,
  whole: () => Promise<WholeChain>,
): Promise<Removal> {
  if (await mayBeInProgress(store, input, runId)) return ALL_REMOVED;
  const manifest = inFolder(folder, MANIFEST);
  const isComplete = !input.unpublished.includes(runId) && (await store.head(manifest)) !== null;
  if (isComplete && mayBePublished(await whole(), runId)) return ALL_REMOVED;
  return removeFolder(store, folder, signal);
}

/** Whether a run may belong to another mirror and be based on our run. Such a run may be in progress. */
export async function mayBeInProgress(store: ObjectStore, input: RunRef, runId: RunId): Promise<boolean> {
  if (runId === input.runId) return false;
  const before = (await readRunIfThere(store, { ...input, runId }))?.before ?? null;
  return before !== null && (before.runId === input.runId || beganAfter(before.runId, input.runId));
}
