import { Context } from '@temporalio/activity';
import type { RunId } from '../src/core/brands.js';
import type { Activities, RunRef } from '../src/core/contract.js';
import { allDone, inParallel } from '../src/core/in-parallel.js';
import {
  dateOf,
  folderOf,
  inFolder,
  MANIFEST,
  runFolder,
  stagingPrefix,
  type Tree,
} from '../src/lake/layout.js';
import type { RunFile } from '../src/lake/run-file.js';
import { beganAfter, isRunId, parseRunDate } from '../src/lake/run-id.js';
import { listDates, listRuns } from '../src/lake/runs.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import type { ActivityDeps } from './deps.js';
import { readRunIfThere } from './documents.js';
import { heartbeating } from './heartbeat.js';
import { readLastRun } from './last-run.js';
import { removeAll, removeStrayParts } from './remove.js';
import { writeReport } from './report.js';
import { removeOldSnapshots } from './retention.js';
import { moveAside } from './rollback/aside.js';

const DAY_MS = 24 * 60 * 60_000;
const TREES = ['snapshots', 'changes'] as const;
const AT_ONCE = 8;

/**
 * Removes what a published run and failed runs before it no longer need: staging, unfinished uploads, folders
 * of runs that never were published, and snapshots that are no longer kept. At last the report on the run is written.
 */
export function createCleanUp(deps: ActivityDeps): Activities['worktrack.cleanUp'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const { resource, runId } = input;
      // A late attempt must not touch what a living run is writing: it stops when it hears that it is late, and
      // names no run that began after its own.
      const { cancellationSignal: signal } = Context.current();
      const run = await readRunIfThere(store, input);
      signal.throwIfAborted();
      const published = readLastRun(store, input);
      const [last] = await allDone([
        published,
        abortUploads(store, `${resource}/`, runId, signal),
        ...(run === null ? [] : [removeTraces(store, run, signal)]),
        published.then(async (found) => {
          if (run !== null && found !== null)
            await removeOldSnapshots(store, found, run.retention, deps.now());
        }),
      ]);
      signal.throwIfAborted();
      // Last of all the run file goes: until then another attempt does what this one did not.
      await allDone([
        removeStaging(store, input, signal),
        ...(last === null ? [] : [writeReport(deps, input, last)]),
      ]);
    });
}

/** What runs that were never published, or given up for dead, left in the trees. */
async function removeTraces(store: ObjectStore, run: RunFile, signal: AbortSignal): Promise<void> {
  const { before, leftBehind } = run;
  const resource = run.resource.name;
  await allDone([
    ...TREES.map((tree) => removeUnpublished(store, tree, run, signal)),
    // An attempt given up for dead may have written after its run was published.
    ...(before === null ? [] : [removeStrayParts(store, folderOf(before.manifest), before.parts)]),
    moveAside(store, resource, leftBehind, signal),
  ]);
}

/** Unfinished uploads of runs that are over; those of one that began later are its own affair. */
async function abortUploads(
  store: ObjectStore,
  prefix: string,
  runId: RunId,
  signal: AbortSignal,
): Promise<void> {
  await store.abortUploads(prefix, (key) => {
    const id = runOf(key);
    return !signal.aborted && (id === null || !beganAfter(id, runId));
  });
}

/** The run that a key below `snapshots/` or `changes/` belongs to. */
function runOf(key: string): RunId | null {
  const id = /\/run=([^/]*)\//.exec(key)?.[1] ?? '';
  return isRunId(id) ? id : null;
}

async function removeStaging(
  store: ObjectStore,
  { resource, runId }: RunRef,
  signal: AbortSignal,
): Promise<void> {
  for (const staged of await store.listFolders(stagingPrefix(resource))) {
    signal.throwIfAborted();
    if (!isRunId(staged) || beganAfter(staged, runId)) continue;
    const folder = `${stagingPrefix(resource)}${staged}/`;
    await store.abortUploads(folder);
    await removeAll(store, folder);
  }
}

/** Runs without a manifest, in the days since the run before: what came earlier was cleaned up then. */
async function removeUnpublished(
  store: ObjectStore,
  tree: Tree,
  { before, nominalStart, resource, runId }: RunFile,
  signal: AbortSignal,
): Promise<void> {
  const since = before === null ? 0 : parseRunDate(before.runId);
  const from = `dt=${dateOf(Math.max(0, since - DAY_MS))}`;
  const to = `dt=${dateOf(nominalStart + DAY_MS)}`;
  const dates = (await listDates(store, resource.name, tree)).filter((date) => date >= from && date <= to);
  const runs = await listRuns(store, resource.name, tree, dates);
  await inParallel([...runs], AT_ONCE, async ([id, date]) => {
    signal.throwIfAborted();
    if (id === runId || beganAfter(id, runId)) return;
    const folder = runFolder(resource.name, tree, date, id);
    if ((await store.head(inFolder(folder, MANIFEST))) === null) await removeAll(store, `${folder}/`);
  });
}
