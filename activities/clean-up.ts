import type { ObjectKey } from '../src/core/brands.js';
import type { Activities } from '../src/core/contract.js';
import { dateOf, MANIFEST, stagingPrefix, treePrefix } from '../src/lake/layout.js';
import { parseRunDate } from '../src/lake/run-id.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import type { ActivityDeps } from './deps.js';
import { readRun } from './documents.js';
import { heartbeating } from './heartbeat.js';
import { removeAll } from './remove.js';
import { removeOldSnapshots } from './retention.js';

const TREES = ['snapshots', 'changes'] as const;

/**
 * Removes what a published run and failed runs before it no longer need: staging, unfinished uploads, folders
 * of runs that never were published, and snapshots that are no longer kept. The mirror is the resource's only writer, so nothing of a living run is there.
 */
export function createCleanUp(deps: ActivityDeps): Activities['worktrack.cleanUp'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const { resource } = input;
      // A retry finds the run file gone, and only staging left to do.
      const run = await readRun(store, input).catch(() => null);
      if (run !== null) {
        const since = run.before === null ? 0 : parseRunDate(run.before.runId);
        for (const tree of TREES) {
          await removeUnpublished(store, treePrefix(resource, tree), since, run.nominalStart);
        }
        await removeOldSnapshots(store, input, run.retention, deps.now());
      }
      await store.abortUploads(`${resource}/`, 0);
      await store.abortUploads(stagingPrefix(resource), 0);
      await removeAll(store, stagingPrefix(resource));
    });
}

/** Runs without a manifest, in the days since the run before: what came earlier was cleaned up then. */
async function removeUnpublished(
  store: ObjectStore,
  tree: string,
  since: number,
  until: number,
): Promise<void> {
  const day = 24 * 60 * 60_000;
  const from = `dt=${dateOf(Math.max(0, since - day))}`;
  const to = `dt=${dateOf(until + day)}`;
  for (const date of await store.listFolders(tree)) {
    if (date < from || date > to) continue;
    for (const run of await store.listFolders(`${tree}${date}/`)) {
      const folder = `${tree}${date}/${run}/`;
      if ((await store.head(`${folder}${MANIFEST}` as ObjectKey)) === null) await removeAll(store, folder);
    }
  }
}
