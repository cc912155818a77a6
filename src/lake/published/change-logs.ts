import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { isRunId, parseRunDate } from '../../core/run-id.js';
import { DamagedError } from '../damaged-error.js';
import type { ObjectStore } from '../store/index.js';
import { dateOf, inFolder, MANIFEST, runFolder, treePrefix } from './layout.js';
import { readManifest } from './manifest.js';
import type { Pointer } from './pointer.js';

/** Manifests that are read at the same time. */
const READS_AT_ONCE = 16;

/** A published run whose change log is not, or not completely, in the lake. */
export interface MissingChangeLog {
  readonly runId: RunId;
  /** The object that is missing or damaged. */
  readonly key: ObjectKey;
  /** What is wrong, without a period at the end. */
  readonly problem: string;
}

/** What the folder of a change log holds. */
interface Log {
  readonly manifest: ObjectKey | null;
  /** Size of each object, in bytes. */
  readonly sizes: ReadonlyMap<ObjectKey, number>;
}

/**
 * Compares the chain of published runs with the change logs in the lake. A person, a lifecycle rule or another program may have
 * removed some; `<resource>_changes` and `<resource>_newest` then lack rows, and no query shows it. Takes a listing, and a request
 * for each run.
 *
 * @param pointer as read before the call: a run may be published meanwhile
 * @returns the runs with a problem, newest first. Runs before one whose manifest is missing are not known
 */
export async function findMissingChangeLogs(
  store: ObjectStore,
  { resource, runId: newest, changes }: Pick<Pointer, 'resource' | 'runId' | 'changes'>,
): Promise<readonly MissingChangeLog[]> {
  if (changes === null) return [];
  const logs = await listLogs(store, resource);
  const runs = new Map<
    RunId,
    { readonly previous: RunId | null; readonly problem: MissingChangeLog | null }
  >();
  await inParallel([...logs], READS_AT_ONCE, async ([runId, log]) => {
    if (log.manifest !== null) runs.set(runId, await readLog(store, runId, log.manifest, log));
  });
  const found: MissingChangeLog[] = [];
  const seen = new Set<RunId>();
  for (let runId: RunId | null = newest, next: RunId | null = null; runId !== null && !seen.has(runId); ) {
    seen.add(runId);
    const run = runs.get(runId);
    if (run === undefined) {
      const key = inFolder(runFolder(resource, 'changes', dateOf(parseRunDate(runId)), runId), MANIFEST);
      const after = next === null ? 'which latest.json names' : `which is before run ${next}`;
      const problem = `${key} is missing: it begins the change log of run ${runId}, ${after}. Those of earlier runs are not known`;
      found.push({ runId, key, problem });
      break;
    }
    if (run.problem !== null) found.push(run.problem);
    next = runId;
    runId = run.previous;
  }
  return found;
}

async function listLogs(store: ObjectStore, resource: string): Promise<ReadonlyMap<RunId, Log>> {
  const logs = new Map<RunId, { manifest: ObjectKey | null; sizes: Map<ObjectKey, number> }>();
  for await (const { key, bytes } of store.list(treePrefix(resource, 'changes'))) {
    const [, runId = '', name] = /\/dt=[^/]+\/run=([^/]+)\/([^/]+)$/.exec(key) ?? [];
    if (!isRunId(runId)) continue;
    const log = logs.get(runId) ?? { manifest: null, sizes: new Map<ObjectKey, number>() };
    logs.set(runId, log);
    log.sizes.set(key, bytes);
    if (name === MANIFEST) log.manifest = key;
  }
  return logs;
}

async function readLog(store: ObjectStore, runId: RunId, key: ObjectKey, { sizes }: Log) {
  try {
    const manifest = await readManifest(store, key);
    // It was removed since the listing.
    if (manifest === null) return { previous: null, problem: { runId, key, problem: `${key} is missing` } };
    const lost = manifest.parts.find((part) => sizes.get(part.key) !== part.bytes);
    const bytes = lost === undefined ? undefined : sizes.get(lost.key);
    const what = bytes === undefined ? 'is missing' : `has ${bytes} bytes instead of ${lost!.bytes}`;
    const problem =
      lost === undefined
        ? null
        : { runId, key: lost.key, problem: `${lost.key} ${what}: the change log of run ${runId} lacks rows` };
    return { previous: manifest.previousRunId, problem };
  } catch (error) {
    if (!(error instanceof DamagedError || error instanceof SyntaxError)) throw error;
    return { previous: null, problem: { runId, key, problem: error.message } };
  }
}
