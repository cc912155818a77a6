import type { ObjectKey, RunId } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import { parseRunDate } from '../../core/run-id.js';
import { DamagedError } from '../damaged-error.js';
import type { PreviousRun } from '../documents/document-schemas.js';
import { dateOf, manifestKey, PREVIOUS_RUNS } from '../documents/lake-layout.js';
import { type Manifest, readIntact, readManifest } from '../documents/manifest.js';
import type { Pointer } from '../documents/pointer.js';
import type { ObjectStore } from '../store/index.js';
import { listRuns, type RunFolders } from './run-folders.js';
import type { KnownRuns } from './sweep-plan.js';

export interface ChainedRun {
  readonly runId: RunId;
  /** Key of the change log's manifest. */
  readonly changes: ObjectKey;
  /** Manifest of the change log; its `parts` are those of the change log. */
  readonly manifest: Manifest;
}

/**
 * Reads the chain of runs of a resource: its published runs, newest first, from `latest.json` through `previousRunId`
 * (docs/reference/lake.md). It follows the manifests of change logs, because these are kept forever, and ends where one is
 * missing. Each run takes a request: `readPublishedIds` takes one for a hundred runs.
 *
 * @throws DamagedError if a manifest cannot be read; StoreError if the store fails
 */
export async function* readChain(
  store: ObjectStore,
  { resource, changes }: Pick<Pointer, 'resource' | 'changes'>,
): AsyncGenerator<ChainedRun> {
  let folders: Promise<RunFolders> | null = null;
  const listed = (): Promise<RunFolders> => {
    folders ??= listRuns(store, resource, 'changes');
    return folders;
  };
  const seen = new Set<RunId>();
  let run = changes === null ? null : await readRunAt(store, changes);
  // A repeated run means a cycle. Only a manifest that was edited by hand can cause one.
  while (run !== null && !seen.has(run.runId)) {
    seen.add(run.runId);
    yield run;
    const { previousRunId } = run.manifest;
    run = previousRunId === null ? null : await findRun(store, resource, previousRunId, listed);
  }
}

/**
 * Finds a published run. Its folder has its nominal date, usually the day when it began or the day before. Other dates
 * need a listing.
 *
 * @returns `null` if its change log is missing
 */
export async function findRun(
  store: ObjectStore,
  resource: string,
  runId: RunId,
  folders: () => Promise<RunFolders> = () => listRuns(store, resource, 'changes'),
): Promise<ChainedRun | null> {
  const began = parseRunDate(runId);
  for (const day of [began, began - DAY_MS]) {
    const found = await readRunAt(store, manifestKey(resource, 'changes', dateOf(day), runId));
    if (found !== null) return found;
  }
  const key = (await folders()).get(runId);
  return key === undefined ? null : readRunAt(store, key);
}

async function readRunAt(store: ObjectStore, changes: ObjectKey): Promise<ChainedRun | null> {
  const manifest = await readManifest(store, changes);
  return manifest && { runId: manifest.runId, changes, manifest };
}

/** The ids on a chain, and whether it was read to its end. */
interface RunIds {
  /** Newest first. */
  readonly runs: ReadonlySet<RunId>;
  /** The run whose change log is lost, so that the runs before it are not known; `null` for a chain that was read to its end. */
  readonly lost: RunId | null;
}

/**
 * Reads the ids on the chain that begins at a run. It takes one request per hundred runs, because each manifest lists its
 * previous runs.
 *
 * @param head manifest of the first run; `null` if it is lost
 * @param until the read ends at this run, if it is there
 * @throws DamagedError if a manifest cannot be read; StoreError if the store fails
 */
export async function readRunIds(
  store: ObjectStore,
  resource: string,
  {
    runId,
    head,
    until = null,
  }: { readonly runId: RunId; readonly head: ListedRuns | null; readonly until?: RunId | null },
): Promise<RunIds> {
  const runs = new Set<RunId>([runId]);
  let last = runId;
  for (let manifest = head; until === null || !runs.has(until); ) {
    if (manifest === null) return { runs, lost: last };
    const known = runs.size;
    for (const previous of manifest.previousRuns) runs.add(previous.runId);
    if (manifest.previousRuns.length < PREVIOUS_RUNS) break;
    // Without a new run, all of this was known: a manifest is lost, or one was edited by hand and there is a cycle.
    if (runs.size === known) return { runs, lost: last };
    last = manifest.previousRuns.at(-1)!.runId;
    manifest = await oldestOf(
      manifest,
      async (run) => (await findRun(store, resource, run))?.manifest ?? null,
    );
  }
  return { runs, lost: null };
}

/** What a manifest says about the runs before its run. */
type ListedRuns = Pick<Manifest, 'previousRuns' | 'leftBehind'>;

/** The manifest of the pointer's run: of its change log, or of its snapshot if that is lost or damaged; `null` if both are lost. */
async function readHead(store: ObjectStore, { changes, snapshot }: Pointer): Promise<ListedRuns | null> {
  const log = changes === null ? null : await readIntact(store, changes);
  return log ?? readManifest(store, snapshot);
}

/** The ids of all published runs, even if the change log of one of them is lost: see `readRunIds`. */
export async function readPublishedIds(store: ObjectStore, pointer: Pointer): Promise<RunIds> {
  const { resource, runId } = pointer;
  return readRunIds(store, resource, { runId, head: await readHead(store, pointer) });
}

/**
 * Whether the pointer's run descends from another run: it is that run, a later run of its chain, or a run of a chain that left
 * that run behind.
 */
export async function descendsFrom(store: ObjectStore, pointer: Pointer, runId: RunId): Promise<boolean> {
  if (pointer.runId === runId) return true;
  const head = await readHead(store, pointer);
  if (head?.leftBehind.includes(runId)) return true;
  return isOnChain(store, pointer, runId, head);
}

/**
 * The runs of the chain that ends with `head` since another run, oldest first. If the other run is not on this chain, for
 * example because `latest.json` was restored from an earlier version and adopted, the runs since the newest run that both
 * chains have in common.
 *
 * @param after `null` for all runs of the chain
 */
export async function runsAfter(
  store: ObjectStore,
  resource: string,
  head: RunId,
  after: RunId | null,
): Promise<readonly RunId[]> {
  if (head === after) return [];
  const manifest = (await findRun(store, resource, head))?.manifest ?? null;
  const { runs } = await readRunIds(store, resource, { runId: head, head: manifest, until: after });
  if (after === null) return [...runs].reverse();
  const other = runs.has(after) ? null : await findRun(store, resource, after);
  const known = new Set([after, ...(other?.manifest.previousRuns ?? []).map((run) => run.runId)]);
  const newest = [...runs];
  const end = newest.findIndex((run) => known.has(run));
  // Without a common run, how far the other chain goes is not known.
  return end === -1 ? [head] : newest.slice(0, end).reverse();
}

/** Whether a run was published: `latest.json` names it or a later run whose chain includes it. */
export async function wasPublished(store: ObjectStore, pointer: Pointer, runId: RunId): Promise<boolean> {
  return pointer.runId === runId || isOnChain(store, pointer, runId, await readHead(store, pointer));
}

async function isOnChain(
  store: ObjectStore,
  { resource, runId: newest }: Pointer,
  runId: RunId,
  head: ListedRuns | null,
): Promise<boolean> {
  const { runs } = await readRunIds(store, resource, { runId: newest, head, until: runId });
  return runs.has(runId);
}

/**
 * Reads the change-log manifests of published runs, newest first. It reads one object for each run, and ends early if a
 * manifest is missing or damaged.
 *
 * @param most the most manifests
 * @param from the first run; absent: the newest one. None are returned if it is not on the chain
 */
export async function readHistory(
  chain: AsyncIterable<ChainedRun>,
  { most, from }: { readonly most: number; readonly from?: RunId | undefined },
): Promise<Manifest[]> {
  const runs: Manifest[] = [];
  try {
    for await (const { manifest } of chain) {
      if (from !== undefined && runs.length === 0 && manifest.runId !== from) continue;
      if (runs.push(manifest) >= most) break;
    }
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
  }
  return runs;
}

/** What a manifest says about its run and the runs before it. */
export interface ListedRun extends PreviousRun, ListedRuns {}

/**
 * Reads the published runs, as far as the caller needs them: the runs that the head's manifest lists, then the chains that
 * were left behind, then older runs. Each step is one request, unless manifests are lost: the lists overlap, so the next
 * younger run of a list takes the place of one that is lost.
 *
 * @param read the manifest of a run; `null` if it is lost
 * @param most the length of a list that may not show the beginning of its chain
 */
export async function* readKnownRuns(
  head: ListedRun,
  read: (runId: RunId) => Promise<ListedRun | null>,
  most: number,
): AsyncGenerator<KnownRuns> {
  const published = new Map<RunId, number>();
  const heads = new Set<RunId>();
  const waiting: RunId[] = [];
  const open: ListedRun[] = [];
  let isBroken = false;
  const take = (listed: ListedRun): void => {
    const before = published.size;
    for (const { runId, publishedAt } of [listed, ...listed.previousRuns]) published.set(runId, publishedAt);
    for (const left of listed.leftBehind) {
      if (heads.has(left)) continue;
      heads.add(left);
      waiting.push(left);
    }
    // A list that adds nothing is of a chain that another one has shown.
    if (published.size > before && listed.previousRuns.length >= most) open.push(listed);
  };
  take(head);
  for (;;) {
    yield { published, isWhole: !isBroken && waiting.length === 0 && open.length === 0 };
    const left = waiting.shift();
    const next = left === undefined ? open.shift() : undefined;
    if (left !== undefined) {
      const listed = await read(left);
      if (listed !== null) take(listed);
      else {
        // Its snapshot stays, because nothing says how old it is.
        if (!published.has(left)) published.set(left, Number.POSITIVE_INFINITY);
        isBroken = true;
      }
    } else if (next !== undefined) {
      const listed = await oldestOf(next, read);
      if (listed === null) isBroken = true;
      else take(listed);
    } else return;
  }
}

/**
 * The oldest manifest of a list that is not lost. The lists overlap, so the next younger one tells almost as much.
 *
 * @param read the manifest of a run; `null` if it is lost
 */
async function oldestOf<T>(
  { previousRuns }: Pick<ListedRun, 'previousRuns'>,
  read: (runId: RunId) => Promise<T | null>,
): Promise<T | null> {
  for (const { runId } of [...previousRuns].reverse()) {
    const found = await read(runId);
    if (found !== null) return found;
  }
  return null;
}
