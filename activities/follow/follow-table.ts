import { Context } from '@temporalio/activity';
import type { RunRef, TableFollowed } from '../../src/core/contract/index.js';
import type { RetentionSettings, TableSettings } from '../../src/core/settings.js';
import { limitWarnings } from '../../src/core/text-budget.js';
import { followPointer } from '../../src/table/index.js';
import { temporalClock } from '../shared/activity-context.js';
import { tableTask } from '../shared/delta-table.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRunIfThere } from '../shared/lake-staging.js';

/** Makes the table of a resource show the snapshot in `latest.json`, after a run or a rollback (docs/explanation/delta-tables.md). */
export async function followTable(deps: ActivityDeps, input: RunRef): Promise<TableFollowed> {
  const { tables, retention } = await readSettings(deps, input);
  // The configuration changed since the step was requested.
  if (tables === null) return { version: -1, warnings: [] };
  const { store } = deps.connection(input.connection);
  const begun = performance.now();
  const followed = await followPointer(
    tableTask({
      ...{ store, resource: input.resource, tables, retention, now: temporalClock() },
      since: Context.current().info.scheduledTimestampMs,
      signal: Context.current().cancellationSignal,
    }),
  );
  const { version, commits, warnings } = followed;
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  Context.current().log.info('the table shows the published run', { version, commits, seconds });
  return { version, warnings: limitWarnings(warnings) };
}

/** A run fixes its settings when it begins. A rollback uses those of the worker. */
async function readSettings(
  deps: ActivityDeps,
  ref: RunRef,
): Promise<{ readonly tables: TableSettings | null; readonly retention: RetentionSettings }> {
  const { store, settings } = deps.connection(ref.connection);
  const run = await readRunIfThere(store, ref);
  return run === null ? settings : { tables: run.tables ?? null, retention: run.retention };
}
