import type { EpochMs, ObjectKey, RunId } from '../../core/brands.js';
import { beganAfter, haveSameRequest, isRunId } from '../../core/run-id.js';
import type { RetentionSettings } from '../../core/settings.js';
import { MANIFEST, nameOf, type Tree } from '../documents/lake-layout.js';
import { RUN_FILE } from '../documents/run-file.js';
import type { ListedObject } from '../store/port.js';
import { type SnapshotRun, snapshotsToRemove } from './retention.js';

/** A folder as a listing shows it. */
interface Listed {
  readonly objects: readonly ListedObject[];
  /** When its last object was written, by the store's clock. */
  readonly newest: EpochMs;
}

/** The folder of a run in one tree. */
export interface RunFolder extends Listed {
  readonly tree: Tree;
  readonly date: string;
  readonly runId: RunId;
}

/** A folder under `_staging/<resource>/`. */
interface StagedFolder extends Listed {
  /** A run id, unless something else wrote it. */
  readonly name: string;
}

/** The published runs that were read from the manifests, with the time of publication. */
export interface KnownRuns {
  readonly published: ReadonlyMap<RunId, EpochMs>;
  /** Whether these are all published runs. */
  readonly isWhole: boolean;
}

export interface SweepFacts {
  /** The run in `latest.json`. */
  readonly head: RunId;
  readonly folders: readonly RunFolder[];
  readonly staged: readonly StagedFolder[];
  readonly known: KnownRuns;
  /** What the manifests of `unknownComplete` say, by key. A manifest that cannot be read is absent. */
  readonly recorded: ReadonlyMap<ObjectKey, Recorded>;
  /** Runs whose snapshots are kept, whatever their age. */
  readonly keep: readonly RunId[];
  /** The run that failed before the head, and the id of the head's request: they can no longer be published. */
  readonly replaced: readonly RunId[];
  /** A purge: no object of an unpublished run that began before it may remain. `null`: there is none. */
  readonly before: RunId | null;
  readonly settings: RetentionSettings;
  /** For the retention: the earlier of Temporal's clock and the newest object in the lake. */
  readonly now: EpochMs;
}

/** What a manifest says about its run. */
export interface Recorded {
  /** By Temporal's clock: when the run was about to be published. */
  readonly publishedAt: EpochMs;
  /** Whether this mirror wrote it. */
  readonly isOwn: boolean;
  /** The last runs before it, newest first. They were published: each was in `latest.json` when the next one read it. */
  readonly previousRuns: readonly RunId[];
}

export interface SweepPlan {
  /** Folders to remove, manifests first. */
  readonly folders: readonly RunFolder[];
  readonly staged: readonly StagedFolder[];
  /** Complete folders that may have objects that their manifest does not name. */
  readonly suspects: readonly RunFolder[];
}

/** Groups the objects of a resource by run and tree. Objects outside the folders of runs are ignored. */
export function toRunFolders(resource: string, objects: readonly ListedObject[]): RunFolder[] {
  return grouped(`${resource}/`, objects, (name) => {
    const [, tree, date, runId = ''] = IN_RUN.exec(name) ?? [];
    return isRunId(runId) ? { tree: tree as Tree, date: date!, runId } : null;
  });
}

const IN_RUN = /^(snapshots|changes)\/dt=(\d{4}-\d\d-\d\d)\/run=([^/]+)\/[^/]+$/;

/** Groups the objects under `_staging/<resource>/`. @param prefix with a trailing slash */
export function toStagedFolders(prefix: string, objects: readonly ListedObject[]): StagedFolder[] {
  return grouped(prefix, objects, (name) => ({ name: name.split('/')[0]! }));
}

/** @param folderOf what identifies the folder of an object, by its name below the prefix; `null` for an object without one */
function grouped<T extends object>(
  prefix: string,
  objects: readonly ListedObject[],
  folderOf: (name: string) => T | null,
): (T & { objects: ListedObject[]; newest: number })[] {
  const groups = new Map<string, T & { objects: ListedObject[]; newest: number }>();
  for (const object of objects) {
    const folder = object.key.startsWith(prefix) ? folderOf(object.key.slice(prefix.length)) : null;
    if (folder === null) continue;
    const id = JSON.stringify(folder);
    const group = groups.get(id) ?? { ...folder, objects: [], newest: 0 };
    groups.set(id, group);
    group.objects.push(object);
    group.newest = Math.max(group.newest, object.modifiedAt);
  }
  return [...groups.values()];
}

/**
 * When the head's run wrote its first object, by the store's clock; `-Infinity` if its folders are not there. Everything that
 * a run wrote before this time, and that is not on the chain, can never be published: the head's swap succeeded on the
 * pointer that the head read before it wrote, so a swap of such a run expects an earlier pointer.
 */
export function headBegan({ head, folders }: Pick<SweepFacts, 'head' | 'folders'>): number {
  const began = earliest(folders.filter(({ runId }) => runId === head).flatMap(({ objects }) => objects));
  return began === Number.POSITIVE_INFINITY ? Number.NEGATIVE_INFINITY : began;
}

/** When the first of some objects was written; `Infinity` for none. */
function earliest(objects: readonly ListedObject[]): number {
  return least(objects.map(({ modifiedAt }) => modifiedAt));
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

/**
 * Whether the chain has to be read further back before the sweep can decide: a run that is not known as published has a
 * snapshot, a journal, or a change log that is not older than the known part of the chain. Otherwise a run needs no request
 * for the chain. All runs since the last sweep still have a snapshot, so whatever appeared since then is covered. After a
 * purge, all of the chain is read.
 */
export function needsMore({ folders, staged, known, before }: Omit<SweepFacts, 'recorded'>): boolean {
  if (known.isWhole) return false;
  if (before !== null) return true;
  const begun = runsWithFile(staged);
  const logs = folders.filter(({ tree, runId }) => tree === 'changes' && known.published.has(runId));
  const since = least(logs.map(({ newest }) => newest));
  return folders.some(
    ({ runId, tree, newest }) =>
      !known.published.has(runId) && (tree === 'snapshots' || newest >= since || begun.has(runId)),
  );
}

/** Runs that have not removed their staging folder. A published run does that after its swap. */
function runsWithFile(staged: readonly StagedFolder[]): ReadonlySet<string> {
  const begun = staged.filter(({ objects }) => objects.some(({ key }) => nameOf(key) === RUN_FILE));
  return new Set(begun.map(({ name }) => name));
}

/**
 * Complete folders that may be garbage. Their manifests have to be read: not being on the chain is no proof that a run was
 * never published, because `latest.json` may have been lost.
 *
 * @returns keys of manifests
 */
export function unknownComplete(input: Omit<SweepFacts, 'recorded'>): ObjectKey[] {
  const { folders, known } = input;
  const isDoomed = doomed(input);
  return known.isWhole
    ? folders
        .filter(({ runId, newest }) => !known.published.has(runId) && isDoomed(runId, newest))
        .flatMap(({ objects }) => manifestOf(objects)?.key ?? [])
    : [];
}

/**
 * What a sweep removes (docs/internals/recovery.md#writes). Pure: a listing and the published runs in, removals
 * out.
 *
 * - A folder of a run that is not on the chain and can never be published: all of it was written before the head's run began,
 *   or it belongs to another attempt of the head or of the run that failed before it, or to a run that began before a purge.
 * - But nothing that may have been published: if the chain could not be read to its end, no such folder is removed. If it
 *   could, a folder stays if it is older than the oldest run of the chain, because that is what is left after `latest.json` was
 *   lost; unless the run's staging folder shows that it did not end, and, if the folder is complete, this mirror wrote it.
 * - Nor what was published after the version of `latest.json` that was restored: runs that are listed in a manifest as those
 *   before its run, but are not on the chain. The run of that manifest stays, too, unless it is known to have ended.
 * - Snapshots of published runs by the retention rule.
 * - Staging folders of published runs, and of runs that can never be published.
 */
export function planSweep(input: SweepFacts): SweepPlan {
  const { folders, known, before, recorded, replaced } = input;
  if (headBegan(input) === Number.NEGATIVE_INFINITY) return { folders: [], staged: [], suspects: [] };
  const isDoomed = doomed(input);
  const begun = runsWithFile(input.staged);
  const oldest = least([...known.published.values()]);
  const chainBegan = earliest(
    folders.filter(({ runId }) => known.published.has(runId)).flatMap(({ objects }) => objects),
  );
  const left = leftByRestore(input);
  const isGarbage = ({ runId, newest, objects }: RunFolder): boolean => {
    if (known.published.has(runId) || left.published.has(runId) || !isDoomed(runId, newest)) return false;
    if (replaced.some((ended) => haveSameRequest(ended, runId))) return true;
    if (!known.isWhole || left.unknown.has(runId)) return false;
    const manifest = manifestOf(objects);
    if (manifest === undefined) return begun.has(runId) || earliest(objects) >= chainBegan;
    const { publishedAt, isOwn } = recorded.get(manifest.key) ?? UNREADABLE;
    return publishedAt >= oldest || (isOwn && begun.has(runId));
  };
  // A purge has removed all incomplete folders. What is in one now arrived late, unless the manifest of a published run is lost.
  const isLate = ({ runId, objects }: RunFolder): boolean =>
    before !== null &&
    !known.published.has(runId) &&
    manifestOf(objects) === undefined &&
    !beganAfter(runId, before);
  const expired = new Set(expiredSnapshots(input));
  const gone = folders.filter((folder) => expired.has(folder) || isGarbage(folder) || isLate(folder));
  const isGone = new Set(gone);
  return {
    folders: gone,
    staged: input.staged.filter(
      ({ name, newest }) => (isRunId(name) && known.published.has(name)) || isDoomed(name, newest),
    ),
    suspects: folders.filter((folder) => {
      const manifest = manifestOf(folder.objects);
      if (manifest === undefined || isGone.has(folder)) return false;
      return before !== null || isSuspect(folder, manifest);
    }),
  };
}

const UNREADABLE: Recorded = { publishedAt: Number.NEGATIVE_INFINITY, isOwn: false, previousRuns: [] };

/**
 * The runs that were left off the chain when an earlier `latest.json` was restored, and the mirror that knew better has lost
 * its state: those that were published, and those that are based on one of them and may have been.
 */
function leftByRestore({ folders, known, recorded }: Pick<SweepFacts, 'folders' | 'known' | 'recorded'>) {
  const published = new Set<RunId>();
  const unknown = new Set<RunId>();
  for (const { runId, objects } of folders) {
    const manifest = manifestOf(objects);
    const { previousRuns } = (manifest && recorded.get(manifest.key)) ?? UNREADABLE;
    const off = previousRuns.filter((previous) => !known.published.has(previous));
    if (off.length > 0) unknown.add(runId);
    for (const previous of off) published.add(previous);
  }
  return { published, unknown };
}

/** Whether a run that is not on the chain can never be published. */
export function doomed(
  input: Pick<SweepFacts, 'head' | 'folders' | 'before' | 'replaced'>,
): (run: string, newest: number) => boolean {
  const { before, replaced } = input;
  const began = headBegan(input);
  const ended = new Set<string>(replaced);
  // Attempts of a request in memory have their own ids. A store shows whole seconds, so their times may equal the head's.
  const hasEnded = (run: string): boolean =>
    isRunId(run) && [input.head, ...replaced].some((id) => haveSameRequest(id, run));
  return (run, newest) => {
    if (ended.has(run)) return true;
    if (newest <= began && hasEnded(run)) return true;
    // Whether a run began before a purge is known by its id alone: a swap of a later one may still arrive.
    if (before !== null && isRunId(run)) return !beganAfter(run, before);
    return newest < began;
  };
}

function expiredSnapshots({ folders, known, head, keep, settings, now }: SweepFacts): RunFolder[] {
  const dates = new Map(folders.map(({ runId, date }) => [runId, date]));
  const published = [...known.published].map(([runId, publishedAt]) => ({
    ...{ runId, publishedAt },
    date: dates.get(runId) ?? '',
  }));
  const snapshots = folders.filter(({ tree }) => tree === 'snapshots');
  const strays = snapshots
    .filter(({ runId }) => !known.published.has(runId))
    .map(({ runId, date, newest }): SnapshotRun => ({ runId, date, publishedAt: newest }));
  const old = snapshotsToRemove({ published, strays, current: head, settings, now });
  const gone = new Set(old.map(({ runId }) => runId).filter((runId) => !keep.includes(runId)));
  return snapshots.filter(({ runId }) => gone.has(runId));
}

function manifestOf(objects: readonly ListedObject[]): ListedObject | undefined {
  return objects.find(({ key }) => nameOf(key) === MANIFEST);
}

/**
 * Whether a complete folder shows signs of a late request: two parts or two indexes of one number, or one that was written
 * after the manifest.
 */
function isSuspect({ objects }: RunFolder, { modifiedAt }: ListedObject): boolean {
  const seen = new Set<string>();
  return objects.some(({ key, modifiedAt: at }) => {
    const [, number] = PART.exec(nameOf(key)) ?? [];
    if (number === undefined) return false;
    if (at > modifiedAt || seen.has(number)) return true;
    seen.add(number);
    return false;
  });
}

const PART = /^(_?part-\d+)-/;

/** Whether a name in a run's folder is of a part or of its index. */
export function isPartName(name: string): boolean {
  return PART.test(name);
}

/** The objects of folders in the order of their removal: manifests before anything else, so that no folder looks complete. */
export function removalOrder(plan: Pick<SweepPlan, 'folders' | 'staged'>): {
  readonly manifests: readonly ObjectKey[];
  readonly rest: readonly ObjectKey[];
} {
  const keys = plan.folders.flatMap(({ objects }) => objects.map(({ key }) => key));
  const staged = plan.staged.flatMap(({ objects }) => objects.map(({ key }) => key));
  return {
    manifests: keys.filter((key) => nameOf(key) === MANIFEST),
    rest: [...keys.filter((key) => nameOf(key) !== MANIFEST), ...staged],
  };
}
