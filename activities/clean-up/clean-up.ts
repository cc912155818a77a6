import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, CleanUpInput } from '../../src/core/contract/index.js';
import { allDone } from '../../src/core/in-parallel.js';
import { beganAfter, haveSameRequest, isRunId } from '../../src/core/run-id.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, removalWarning } from '../../src/lake/store/index.js';
import { replaced, temporalClock, withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRunIfThere } from '../shared/documents.js';
import { readLastRun } from '../shared/published-run.js';
import { writeReport } from './report.js';
import { removeOldSnapshots } from './retention.js';
import { findUnusedStaging, removeStaging } from './staging.js';
import { type EndedRun, removeUnpublished } from './unpublished.js';

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
      // Begins beside the rest. If it fails, the rest is done all the same.
      const staging = findUnusedStaging(store, input, signal);
      staging.catch(() => {});
      const [run, last] = await Promise.all([readEnded(store, input), readLastRun(store, input)]);
      signal.throwIfAborted();
      const { retention: before } = input;
      const [removed, unpublished] = await allDone([
        run === null || last === null
          ? null
          : removeOldSnapshots(store, last, run.retention, {
              ...{ now: now(), cleanedUpTo, signal },
              ...(before === undefined ? {} : { before }),
            }),
        run === null || last === null ? null : removeUnpublished({ store, input, run, last, signal }),
        abortUploads(store, `${resource}/`, runId, signal),
      ]);
      signal.throwIfAborted();
      // The staging folder is removed last: while the run file is there, another attempt can complete this one.
      const staged = await staging.then((folders) => removeStaging(store, folders, signal));
      const refused = addRemovals(removed?.refused ?? ALL_REMOVED, unpublished ?? ALL_REMOVED, staged);
      const warning = removalWarning(refused);
      if (last !== null && (warning !== null || !input.reported))
        await writeReport(deps, input, last, warning === null ? [] : [warning]);
      // If the run file is missing, an earlier attempt has completed the clean-up.
      return {
        // What was refused is tried again after each run.
        complete: refused.refused === 0 && (run === null || removed?.complete === true),
        ...(removed === null || refused.refused > 0 ? {} : { due: removed.due }),
        ...(refused.refused === 0 ? {} : { refused }),
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
