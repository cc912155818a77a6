import { Context } from '@temporalio/activity';
import type { CleanUpDue, RunRef } from '../../src/core/contract/index.js';
import { errorMessage } from '../../src/core/errors.js';
import type { RetentionSettings } from '../../src/core/settings.js';
import { expiredSnapshots, showGrace } from '../../src/lake/published/expired.js';
import { runFolder } from '../../src/lake/published/layout.js';
import type { ReportedRun } from '../../src/lake/published/recent-runs.js';
import { expiredDates } from '../../src/lake/published/retention.js';
import { listDates, listRuns } from '../../src/lake/published/run-folders.js';
import { ALL_REMOVED, addRemovals, type ObjectStore } from '../../src/lake/store/index.js';
import { removeFolder } from '../shared/remove-folders.js';

/** Days that one run looks at, and snapshots that it removes. The clean-up does the rest. */
const MAX_DAYS = 10;
const MAX_RUNS = 20;

interface RemoveExpired extends RunRef {
  /** The clean-up that is due. */
  readonly due: CleanUpDue;
  readonly retention: RetentionSettings;
  /** The newest published runs, newest first. The first is this run. */
  readonly recent: readonly ReportedRun[];
  /** Milliseconds since 1970, by Temporal's clock. */
  readonly now: number;
}

/**
 * Removes the snapshots that have reached their retention. A clean-up does the same, but it also looks for the remains of
 * failed runs, which takes many requests to the store. Never throws, because the run is published: the clean-up does what
 * could not be done here.
 *
 * @returns when the next clean-up is due; `null` if this one still is
 */
export async function removeExpired(store: ObjectStore, run: RemoveExpired): Promise<CleanUpDue | null> {
  const { resource, due, retention, recent, now } = run;
  const { otherwiseAt } = due;
  if (due.retention !== JSON.stringify(retention)) return null;
  if (!showGrace(recent, now)) return null;
  const signal = Context.current().cancellationSignal;
  try {
    const dates = await listDates(store, resource, 'snapshots');
    const { snapshotsMs } = retention;
    const days = expiredDates(dates, { snapshotsMs, now }).slice(0, MAX_DAYS);
    const folders = await listRuns(store, resource, 'snapshots', days);
    const unlisted = dates.filter((date) => !days.includes(date));
    const limits = { snapshotsMs, now, most: MAX_RUNS };
    const { gone, at } = expiredSnapshots({ folders, recent, unlisted, ...limits });
    let refused = ALL_REMOVED;
    for (const { date, runId } of gone)
      refused = addRemovals(
        refused,
        await removeFolder(store, runFolder(resource, 'snapshots', date, runId), signal),
      );
    // The clean-up counts all that is left, and warns.
    if (refused.refused > 0) return null;
    return { ...due, at: Math.min(at, otherwiseAt) };
  } catch (error) {
    Context.current().log.warn('the run was published, but the clean-up has to remove its old snapshots', {
      error: errorMessage(error),
    });
    return null;
  }
}
