import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, CleanUpInput, RunRef } from '../../src/core/contract/index.js';
import { allDone } from '../../src/core/in-parallel.js';
import { beganAfter, haveSameRequest, isRunId } from '../../src/core/run-id.js';
import { stagingPrefix } from '../../src/lake/published/layout.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { replaced, temporalClock, withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRunIfThere } from '../shared/documents.js';
import { readLastRun } from '../shared/published-run.js';
import { removeAll } from '../shared/remove-folders.js';
import { writeReport } from './report.js';
import { removeOldSnapshots } from './retention.js';
import { type EndedRun, mayBeInProgress, removeUnpublished } from './unpublished.js';

/**
 * Removes what a published run and earlier failed runs no longer need: staging folders, unfinished uploads, folders of
 * unpublished runs, and snapshots beyond their retention. Then it writes the report of the run. If a clean-up fails, the
 * clean-up of a later run completes it: its input names the run up to which everything is clean.
 */
export function createCleanUp(deps: ActivityDeps): Activities['worktrack.cleanUp'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store } = deps.connection(input.connection);
      const { resource, runId, cleanedUpTo } = input;
      const now = temporalClock();
      // A replaced attempt must not remove what a later run is writing. It stops when it is cancelled, and it never
      // touches a run that began after its own.
      const { cancellationSignal: signal } = Context.current();
      const [run, last, staged] = await allDone([
        readEnded(store, input),
        readLastRun(store, input),
        store.listFolders(stagingPrefix(resource)),
      ]);
      signal.throwIfAborted();
      const { retention: before } = input;
      const [removed, unused] = await allDone([
        run === null || last === null
          ? null
          : removeOldSnapshots(store, last, run.retention, {
              ...{ now: now(), cleanedUpTo, signal },
              ...(before === undefined ? {} : { before }),
            }),
        unusedStaging(store, input, staged, signal),
        run === null || last === null ? null : removeUnpublished({ store, input, run, last, signal }),
        abortUploads(store, `${resource}/`, runId, signal),
      ]);
      signal.throwIfAborted();
      // The staging folder is removed last: while the run file is there, another attempt can complete this one.
      await allDone([
        removeStaging(store, unused, signal),
        ...(last === null || input.reported ? [] : [writeReport(deps, input, last)]),
      ]);
      // If the run file is missing, an earlier attempt has completed the clean-up.
      return {
        complete: run === null || removed?.complete === true,
        ...(removed === null ? {} : { due: removed.due }),
        ...replaced(),
      };
    });
}

/**
 * The run file of the published run, or what the input says about a short run, which has none. If a delayed attempt of a
 * short run was published instead of the separate steps, these have the run file.
 */
async function readEnded(store: ObjectStore, input: CleanUpInput): Promise<EndedRun | null> {
  if (input.short !== undefined) return { ...input.short, before: null };
  const overtaken = input.unpublished.findLast((runId) => haveSameRequest(runId, input.runId));
  return (
    (await readRunIfThere(store, input)) ??
    (overtaken === undefined ? null : readRunIfThere(store, { ...input, runId: overtaken }))
  );
}

/** Aborts unfinished uploads of ended runs. A run that began later may still be uploading. */
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

/** Returns the run that owns a key below `snapshots/` or `changes/`. */
function runOf(key: string): RunId | null {
  const id = /\/run=([^/]*)\//.exec(key)?.[1] ?? '';
  return isRunId(id) ? id : null;
}

/** Returns the staging folders that no run uses, and aborts the uploads in them. @param staged names of all folders */
async function unusedStaging(
  store: ObjectStore,
  ref: RunRef,
  staged: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const folders: string[] = [];
  for (const runId of staged) {
    signal.throwIfAborted();
    if (!isRunId(runId) || beganAfter(runId, ref.runId)) continue;
    if (await mayBeInProgress(store, ref, runId)) continue;
    const folder = `${stagingPrefix(ref.resource)}${runId}/`;
    await store.abortUploads(folder);
    folders.push(folder);
  }
  return folders;
}

async function removeStaging(
  store: ObjectStore,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const folder of folders) {
    signal.throwIfAborted();
    await removeAll(store, folder, signal);
  }
}
