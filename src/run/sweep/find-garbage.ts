import type { EpochMs, ObjectKey, RunId } from '../../core/brands.js';
import type { RunSweep, Writer } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { RetentionSettings } from '../../core/settings.js';
import { manifestKey, PREVIOUS_RUNS, stagingPrefix, treePrefix } from '../../lake/documents/lake-layout.js';
import { type Manifest, readIntact } from '../../lake/documents/manifest.js';
import { type ListedRun, readKnownRuns } from '../../lake/published/chain.js';
import { AMONG_OTHERS } from '../../lake/published/foreign-files.js';
import { isSameWriter } from '../../lake/published/ownership.js';
import {
  needsMore,
  planSweep,
  type Recorded,
  type SweepFacts,
  type SweepPlan,
  toRunFolders,
  toStagedFolders,
  unknownComplete,
} from '../../lake/published/sweep-plan.js';
import { collected, type ListedObject, type ObjectStore } from '../../lake/store/index.js';

const READS_AT_ONCE = 8;

/** What a sweep looks at. */
export interface SweepTask {
  readonly resource: string;
  /** This mirror. */
  readonly writer: Writer;
  /** A manifest of the run in `latest.json`. */
  readonly head: Pick<Manifest, 'runId' | 'publishedAt' | 'previousRuns' | 'leftBehind' | 'rolledBack'>;
  /** As in `SweepFacts`. */
  readonly replaced: readonly RunId[];
  /** As in `SweepFacts`. */
  readonly before: RunId | null;
  readonly settings: RetentionSettings;
  /** By Temporal's clock. */
  readonly now: EpochMs;
  readonly scope: RunSweep['scope'];
  readonly signal: AbortSignal;
}

/**
 * Lists the objects of a resource and decides what to remove. It changes nothing.
 *
 * @throws StoreError if the store fails; LakeLayoutError if a manifest has another layout
 */
export async function findGarbage(
  store: ObjectStore,
  task: SweepTask,
): Promise<{ readonly plan: SweepPlan; readonly input: SweepFacts }> {
  const { resource, head, replaced, before, settings, now, scope } = task;
  const keep = head.rolledBack?.keep ?? [];
  const staging = stagingPrefix(resource);
  const [objects, staged] = await Promise.all([
    listTrees(store, resource),
    scope === 'all' ? collected(store.list(staging, AMONG_OTHERS)) : [],
  ]);
  const folders = toRunFolders(resource, objects);
  const facts = { folders, staged: toStagedFolders(staging, staged) };
  // Temporal's clock may be ahead, and what has expired by it would be gone forever. The run has just written to the store.
  const newest = objects.reduce(
    (time, { modifiedAt }) => Math.max(time, modifiedAt),
    Number.NEGATIVE_INFINITY,
  );
  const rest = { head: head.runId, keep, replaced, before, settings, now: Math.min(now, newest) };
  let input: Omit<SweepFacts, 'recorded'> | null = null;
  // In the order of the listing, change logs come first.
  const read = (runId: RunId): Promise<ListedRun | null> => {
    const own = folders.filter((one) => one.runId === runId);
    const keys = own.map(({ tree, date }) => manifestKey(resource, tree, date, runId));
    return readListed(store, keys);
  };
  for await (const known of readKnownRuns(toListed(head), read, PREVIOUS_RUNS)) {
    task.signal.throwIfAborted();
    input = { ...facts, ...rest, known };
    if (!needsMore(input)) break;
  }
  const recorded = await readRecorded(store, unknownComplete(input!), task);
  const full = { ...input!, recorded };
  return { input: full, plan: planSweep(full) };
}

/** The objects of both trees. One listing serves both, because nothing but `latest.json` sorts between them. */
async function listTrees(store: ObjectStore, resource: string): Promise<ListedObject[]> {
  const last = treePrefix(resource, 'snapshots');
  const objects: ListedObject[] = [];
  for await (const object of store.list(`${resource}/`, AMONG_OTHERS)) {
    if (object.key > last && !object.key.startsWith(last)) break;
    objects.push(object);
  }
  return objects;
}

/** What a manifest says about its run and the runs before it. */
function toListed(manifest: Omit<SweepTask['head'], 'rolledBack'>): ListedRun {
  const { runId, publishedAt, previousRuns, leftBehind } = manifest;
  return { runId, publishedAt: Date.parse(publishedAt), previousRuns, leftBehind };
}

/** What the first intact manifest of a run says; `null` if all are lost. @param keys of its change log first */
export async function readListed(store: ObjectStore, keys: readonly ObjectKey[]): Promise<ListedRun | null> {
  for (const key of keys) {
    const manifest = await readIntact(store, key);
    if (manifest !== null) return toListed(manifest);
  }
  return null;
}

async function readRecorded(
  store: ObjectStore,
  keys: readonly ObjectKey[],
  { writer, signal }: SweepTask,
): Promise<ReadonlyMap<ObjectKey, Recorded>> {
  const recorded = new Map<ObjectKey, Recorded>();
  await inParallel(keys, READS_AT_ONCE, async (key) => {
    signal.throwIfAborted();
    const manifest = await readIntact(store, key);
    if (manifest === null) return;
    recorded.set(key, {
      publishedAt: Date.parse(manifest.publishedAt),
      isOwn: isSameWriter(manifest.writer, writer),
      previousRuns: manifest.previousRuns.map(({ runId }) => runId),
    });
  });
  return recorded;
}
