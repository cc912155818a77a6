import { ScheduleNotFoundError, type ScheduleOptions, ScheduleOverlapPolicy } from '@temporalio/client';
import { WATCH_WORKFLOW, type WatchInput, watcherId } from '../../core/contract/index.js';
import { MINUTE_MS } from '../../core/duration.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../client/connect.js';
import { type CreatedOrUpdated, createOrUpdate } from './create-or-update.js';

/** What `applyWatcher` did. `none`: no target needs a watcher, and there was none. */
export type AppliedWatcher = CreatedOrUpdated['outcome'] | 'deleted' | 'none';

const MAX_INTERVAL_MS = 30 * MINUTE_MS;

/** How often the watcher of a connection looks, in ms; `null`: no target needs one (docs/how-to/alerts.md#the-watcher). */
function watchInterval({ notify }: Pick<ConnectionSettings, 'notify'>): number | null {
  const maxAges = notify.flatMap(({ maxAgeMs }) => maxAgeMs ?? []);
  if (maxAges.length === 0 && !notify.some(({ on }) => on.includes('behind'))) return null;
  return Math.max(MINUTE_MS, Math.min(MAX_INTERVAL_MS, Math.floor(Math.min(...maxAges) / 4)));
}

/** Creates, updates or deletes the Schedule that looks for stale data and missed runs. Idempotent. */
export async function applyWatcher(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  taskQueue: string,
): Promise<AppliedWatcher> {
  const every = watchInterval(connection);
  if (every === null) return deleteWatcher(temporal, connection.name);
  const scheduleId = watcherId(connection.name);
  const input: WatchInput = { connection: connection.name };
  const options: ScheduleOptions = {
    scheduleId,
    // The server derives each delay from the Schedule's id, so that connections are not watched at the same moment.
    spec: { intervals: [{ every }], jitter: every / 2 },
    action: {
      type: 'startWorkflow',
      workflowType: WATCH_WORKFLOW,
      workflowId: scheduleId,
      taskQueue,
      args: [input],
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: MINUTE_MS },
  };
  return (await createOrUpdate(temporal, options)).outcome;
}

/** Deletes the watcher of a connection, if there is one. */
export async function deleteWatcher(
  temporal: TemporalClient,
  connection: string,
): Promise<'deleted' | 'none'> {
  try {
    await temporal.client.schedule.getHandle(watcherId(connection)).delete();
    return 'deleted';
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return 'none';
    throw error;
  }
}
