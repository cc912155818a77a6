import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { parseRunDate } from '../../core/run-id.js';
import { DamagedError } from '../damaged-error.js';
import {
  dateOf,
  folderOf,
  inFolder,
  MANIFEST,
  manifestKey,
  PREVIOUS_RUNS,
  treePrefix,
} from '../documents/lake-layout.js';
import { readManifest } from '../documents/manifest.js';
import type { Pointer } from '../documents/pointer.js';
import { isUnread, type ObjectStore } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';
import { listAmongOthers } from './foreign-files.js';
import { type RunFolder, toRunFolders } from './sweep-plan.js';

const READS_AT_ONCE = 16;

/** A published run whose change log is not, or not completely, in the lake. */
export interface MissingChangeLog {
  readonly runId: RunId;
  /** The object that is missing or damaged. */
  readonly key: ObjectKey;
  /** What is wrong, without a period at the end. */
  readonly problem: string;
  /** Whether its manifest could not be read, so that it may be intact. */
  readonly isUnread?: boolean;
}

/**
 * Compares the chain of published runs with the change logs in the lake. A person, a lifecycle rule or another program may have
 * removed some; `<resource>_changes` and `<resource>_newest` then lack rows, and no query shows it. Takes a listing, and a request
 * for each run.
 *
 * @param pointer as read before the call: a run may be published meanwhile
 * @returns the runs with a problem, newest first
 */
export async function findMissingChangeLogs(
  store: ObjectStore,
  { resource, runId: newest, changes }: Pick<Pointer, 'resource' | 'runId' | 'changes'>,
): Promise<readonly MissingChangeLog[]> {
  if (changes === null) return [];
  const { objects } = await listAmongOthers(store, treePrefix(resource, 'changes'));
  const logs = new Map(toRunFolders(resource, objects).map((folder) => [folder.runId, folder]));
  const problems = new Map<RunId, MissingChangeLog>();
  const previous = new Map<RunId, RunId | null>();
  await inParallel([...logs.values()], READS_AT_ONCE, async (log) => {
    const { problem, runIds } = await readLog(store, log);
    if (problem !== null) problems.set(log.runId, problem);
    // Each manifest lists the runs before it, so a missing one does not hide those.
    for (const [at, id] of runIds.entries()) {
      const next = runIds[at + 1];
      if (next !== undefined) previous.set(id, next);
      else if (at < PREVIOUS_RUNS) previous.set(id, null);
    }
  });
  const found: MissingChangeLog[] = [];
  const seen = new Set<RunId>();
  for (let runId: RunId | null = newest; runId !== null && !seen.has(runId); ) {
    seen.add(runId);
    const next: RunId | null | undefined = previous.get(runId);
    const problem = problems.get(runId) ?? (logs.has(runId) ? null : lostLog(resource, runId));
    if (problem !== null) found.push(problem);
    // Only a problem of this run hides what was before it.
    if (problem !== null && next === undefined) {
      const unknown = `${resource}: whether change logs before run ${runId} are missing is not known`;
      found.push({ ...problem, problem: unknown });
    }
    runId = next ?? null;
  }
  return found;
}

function lostLog(resource: string, runId: RunId): MissingChangeLog {
  const key = manifestKey(resource, 'changes', dateOf(parseRunDate(runId)), runId);
  return { runId, key, problem: `${key} is missing, and with it the change log of run ${runId}` };
}

/** `runIds`: the run and those before it, newest first, as far as its manifest lists them; empty if it cannot be read. */
async function readLog(
  store: ObjectStore,
  { runId, objects }: RunFolder,
): Promise<{ readonly problem: MissingChangeLog | null; readonly runIds: readonly RunId[] }> {
  const key = inFolder(folderOf(objects[0]!.key), MANIFEST);
  const lost = (at: ObjectKey, problem: string, runIds: readonly RunId[] = []) => ({
    problem: { runId, key: at, problem },
    runIds,
  });
  try {
    const manifest = await readManifest(store, key);
    if (manifest === null)
      return lost(key, `${key} is missing, so the change log of run ${runId} is not complete`);
    const runIds = [runId, ...manifest.previousRuns.map((run) => run.runId)];
    const sizes = new Map(objects.map((object) => [object.key, object.bytes]));
    const part = manifest.parts.find((one) => sizes.get(one.key) !== one.bytes);
    if (part === undefined) return { problem: null, runIds };
    const bytes = sizes.get(part.key);
    const what = bytes === undefined ? 'is missing' : `has ${bytes} bytes instead of ${part.bytes}`;
    return lost(part.key, `${part.key} ${what}: the change log of run ${runId} lacks rows`, runIds);
  } catch (error) {
    if (isUnread(error))
      return { problem: { runId, key, problem: error.message, isUnread: true }, runIds: [] };
    const isOfObject =
      error instanceof DamagedError || error instanceof SyntaxError || error instanceof DocumentTooLargeError;
    if (!isOfObject) throw error;
    return lost(key, error.message);
  }
}
