import { ApplicationFailure, Context } from '@temporalio/activity';
import type { ObjectKey } from '../../core/brands.js';
import type { SweepInput, Swept } from '../../core/contract/index.js';
import { allDone, inParallel } from '../../core/in-parallel.js';
import { isRunId } from '../../core/run-id.js';
import {
  folderOf,
  indexedObjects,
  manifestKey,
  nameOf,
  stagingPrefix,
} from '../../lake/documents/lake-layout.js';
import { readIntact } from '../../lake/documents/manifest.js';
import { isOfLaterPurge } from '../../lake/published/purge-rules.js';
import { sweepQuarantine } from '../../lake/published/quarantine.js';
import {
  doomed,
  headBegan,
  isPartName,
  type RunFolder,
  removalOrder,
  type SweepFacts,
  type SweepPlan,
} from '../../lake/published/sweep-plan.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../lake/store/index.js';
import { followPointer } from '../../table/index.js';
import { temporalClock } from '../activity-context.js';
import type { ActivityDeps } from '../deps.js';
import { type PassedFence, passFence, readSnapshot } from '../pass-fence.js';
import { tableTask } from '../publish/delta-table.js';
import { removeFolder, removeKeys } from '../remove-folders.js';
import { findGarbage, type SweepTask } from './find-garbage.js';

/** What a mirror that may not write removes. Another mirror owns the lake, and sweeps it. */
const NOTHING: Swept = {
  ...{ folders: 0, staged: 0, strays: 0, uploads: 0 },
  ...{ isDone: true, refused: ALL_REMOVED },
};

/**
 * Removes the garbage of a resource after a run in the lake, or an hour after a purge. It passes the fence first, so a
 * displaced mirror removes nothing.
 */
export async function sweep(deps: ActivityDeps, input: SweepInput): Promise<Swept> {
  const { connection, resource, writer, replaced, before } = input;
  const { store, settings } = deps.connection(connection);
  const now = temporalClock()();
  const found = await ownPointer(deps, input);
  const signal = Context.current().cancellationSignal;
  if (found === 'displaced') return NOTHING;
  // Runs that failed before the first one was published may have quarantined records.
  if (found === null) return { ...NOTHING, refused: await sweepLate(store, { resource, before, signal }) };
  const head = await readSnapshot(store, found.pointer);
  const swept = await sweepResource(store, {
    ...{ resource, writer, head, replaced, before, now },
    ...{ settings: settings.retention, scope: 'all' },
    signal,
  });
  const { tables, retention } = settings;
  if (before === null || tables === null) return swept;
  // Data files that a late request has written since the purge.
  const task = tableTask({ store, resource, tables, retention, now: temporalClock(), signal });
  await followPointer(task);
  return swept;
}

/** @returns the pointer; `null` if there is none; `displaced` if this mirror may not write */
async function ownPointer(
  deps: ActivityDeps,
  input: SweepInput,
): Promise<PassedFence['found'] | 'displaced'> {
  const { store, settings } = deps.connection(input.connection);
  try {
    const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
    return found;
  } catch (error) {
    if (error instanceof ApplicationFailure && error.type === 'Displaced') return 'displaced';
    throw error;
  }
}

/** Folders that one sweep removes at most. The next one does the rest. */
const MAX_FOLDERS = 500;
/** Manifests that one sweep reads at most to look for stray parts, unless there was a purge. */
const MAX_SUSPECTS = 100;
const READS_AT_ONCE = 8;

/**
 * Removes the garbage of a resource (`planSweep` holds the rule). Each removal can be repeated, and harms nothing if it
 * arrives late: the names are of runs that can never be published, or of snapshots that have expired, and are never used
 * again. It stops before its next request when it is cancelled.
 *
 * @throws StoreError if the store fails; LakeLayoutError if a manifest has another layout
 */
export async function sweepResource(store: ObjectStore, task: SweepTask): Promise<Swept> {
  const { signal, scope, resource } = task;
  const found = findGarbage(store, task);
  // The listings do not wait for each other, because each answer of a distant store takes long.
  const uploads = scope === 'all' ? abortUploads(store, task, found) : 0;
  const [{ plan, input }, aborted] = await allDone([found, uploads]);
  const folders = plan.folders.slice(0, MAX_FOLDERS);
  const removed = await removePlanned(store, { folders, staged: plan.staged }, signal);
  const suspects = task.before === null ? plan.suspects.slice(-MAX_SUSPECTS) : plan.suspects;
  const strays = await inParallel(suspects, READS_AT_ONCE, async (folder) => {
    signal.throwIfAborted();
    const keys = await listStrays(store, resource, folder, input);
    return { count: keys.length, removal: await removeKeys(store, keys, signal) };
  });
  const late = await sweepLate(store, task);
  return {
    folders: folders.length,
    staged: plan.staged.length,
    strays: strays.reduce((sum, { count }) => sum + count, 0),
    uploads: aborted,
    isDone: folders.length === plan.folders.length,
    refused: addRemovals(removed, ...strays.map(({ removal }) => removal), late),
  };
}

/** After a purge, removes the record from quarantine files once more. */
async function sweepLate(
  store: ObjectStore,
  { resource, before, signal }: Pick<SweepTask, 'resource' | 'before' | 'signal'>,
): Promise<Removal> {
  return before === null ? ALL_REMOVED : sweepQuarantine(store, resource, before, signal);
}

/** Removes the objects of the plan, manifests first. If one is refused, the other objects of its folder stay. */
async function removePlanned(
  store: ObjectStore,
  plan: Pick<SweepPlan, 'folders' | 'staged'>,
  signal: AbortSignal,
): Promise<Removal> {
  const { manifests, rest } = removalOrder(plan);
  if ((await removeKeys(store, manifests, signal)).refused === 0) return removeKeys(store, rest, signal);
  const removals: Removal[] = [];
  for (const { objects } of plan.folders)
    removals.push(await removeFolder(store, folderOf(objects[0]!.key), signal));
  const staged = removalOrder({ folders: [], staged: plan.staged }).rest;
  return addRemovals(...removals, await removeKeys(store, staged, signal));
}

/**
 * Parts and indexes that are not in the manifest, and that no manifest can list any more: they were written before the
 * head's run began, or, after a purge, by no later purge. The manifest is read after the listing.
 */
async function listStrays(
  store: ObjectStore,
  resource: string,
  { tree, date, runId, objects }: RunFolder,
  input: SweepFacts,
): Promise<ObjectKey[]> {
  const { before } = input;
  const manifest = await readIntact(store, manifestKey(resource, tree, date, runId));
  if (manifest === null) return [];
  const named = new Set<string>(manifest.parts.flatMap(({ key }) => indexedObjects(key)));
  const isStray = (key: ObjectKey): boolean => isPartName(nameOf(key)) && !named.has(key);
  const began = headBegan(input);
  const isOver = (name: string, modifiedAt: number): boolean =>
    modifiedAt < began || (before !== null && !isOfLaterPurge(name, before));
  return objects
    .filter(({ key }) => isStray(key))
    .filter(({ key, modifiedAt }) => isOver(nameOf(key), modifiedAt))
    .map(({ key }) => key);
}

/** Aborts unfinished uploads of published runs, and of runs that can never be published. */
async function abortUploads(
  store: ObjectStore,
  { resource, signal }: SweepTask,
  found: ReturnType<typeof findGarbage>,
): Promise<number> {
  const staging = stagingPrefix(resource);
  const facts = found.then(
    ({ input }) => ({ published: input.known.published, isDoomed: doomed(input) }),
    () => null,
  );
  const isAbandoned = async (key: ObjectKey, startedAt: number): Promise<boolean> => {
    const known = await facts;
    if (signal.aborted || known === null) return false;
    const name = key.startsWith(staging)
      ? key.slice(staging.length).split('/')[0]!
      : (/\/run=([^/]*)\//.exec(key)?.[1] ?? '');
    return (isRunId(name) && known.published.has(name)) || known.isDoomed(name, startedAt);
  };
  const counts = await Promise.all([
    store.abortUploads(`${resource}/`, isAbandoned),
    store.abortUploads(staging, isAbandoned),
  ]);
  return counts.reduce((sum, { aborted }) => sum + aborted, 0);
}
