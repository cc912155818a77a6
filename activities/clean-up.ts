import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../src/core/brands.js';
import type { Activities } from '../src/core/contract.js';
import { dateOf, folderOf, MANIFEST, stagingPrefix, treePrefix } from '../src/lake/layout.js';
import type { RunFile } from '../src/lake/run-file.js';
import { beganAfter, isRunId, parseRunDate } from '../src/lake/run-id.js';
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
      if (run !== null) {
        for (const tree of TREES) {
          await removeUnpublished(store, treePrefix(resource, tree), run, signal);
        }
        if (run.before !== null) {
          // An attempt given up for dead may have written after its run was published.
          await removeStrayParts(store, folderOf(run.before.manifest), run.before.parts);
        }
        await moveAside(store, resource, run.leftBehind, signal);
      }
      const last = await readLastRun(store, input);
      if (run !== null && last !== null) await removeOldSnapshots(store, last, run.retention, deps.now());
      signal.throwIfAborted();
      await store.abortUploads(`${resource}/`, 0);
      for (const staged of await store.listFolders(stagingPrefix(resource))) {
        signal.throwIfAborted();
        if (!isRunId(staged) || beganAfter(staged, runId)) continue;
        const folder = `${stagingPrefix(resource)}${staged}/`;
        await store.abortUploads(folder, 0);
        await removeAll(store, folder);
      }
      if (last !== null) await writeReport(deps, input, last);
    });
}

/** Runs without a manifest, in the days since the run before: what came earlier was cleaned up then. */
async function removeUnpublished(
  store: ObjectStore,
  tree: string,
  { before, nominalStart, runId }: RunFile,
  signal: AbortSignal,
): Promise<void> {
  const since = before === null ? 0 : parseRunDate(before.runId);
  const from = `dt=${dateOf(Math.max(0, since - DAY_MS))}`;
  const to = `dt=${dateOf(nominalStart + DAY_MS)}`;
  for (const date of await store.listFolders(tree)) {
    if (date < from || date > to) continue;
    for (const name of await store.listFolders(`${tree}${date}/`)) {
      signal.throwIfAborted();
      const id = name.replace(/^run=/, '');
      if (!isRunId(id) || id === runId || beganAfter(id, runId)) continue;
      const folder = `${tree}${date}/${name}/`;
      if ((await store.head(`${folder}${MANIFEST}` as ObjectKey)) === null) await removeAll(store, folder);
    }
  }
}
