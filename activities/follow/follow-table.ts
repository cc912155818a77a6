import { Context } from '@temporalio/activity';
import type { RunRef, TableFollowed } from '../../src/core/contract/index.js';
import { limitWarnings } from '../../src/core/run-records.js';
import { temporalClock } from '../../src/run/activity-context.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { onThisWorker, tableTask } from '../../src/run/publish/delta-table.js';
import { readJournal } from '../../src/run/staging.js';
import { followPointer } from '../../src/table/index.js';

/** Makes the table of a resource show the snapshot in `latest.json`, after a run or a rollback (docs/explanation/delta-tables.md). */
export async function followTable(deps: ActivityDeps, input: RunRef): Promise<TableFollowed> {
  const { store, settings } = deps.connection(input.connection);
  // A run fixes its settings when it begins. A rollback uses those of the worker.
  const { tables, retention } = (await readJournal(store, input))?.run ?? settings;
  // The configuration changed since the step was requested.
  if (tables === null) return { version: -1, warnings: [] };
  const begun = performance.now();
  const followed = await followPointer(
    tableTask({
      ...{ store, resource: input.resource, retention, now: temporalClock() },
      tables: onThisWorker(tables, settings),
      since: Context.current().info.scheduledTimestampMs,
      signal: Context.current().cancellationSignal,
    }),
  );
  const { version, commits, warnings } = followed;
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  Context.current().log.info('the table shows the published run', { version, commits, seconds });
  return { version, warnings: limitWarnings(warnings) };
}
