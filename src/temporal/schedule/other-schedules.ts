import { ScheduleNotFoundError, type ScheduleOptions, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Millis } from '../../core/brands.js';
import {
  auditId,
  EXPORT_WORKFLOW,
  type ExportInput,
  WATCH_WORKFLOW,
  type WatchInput,
  watcherId,
} from '../../core/contract/index.js';
import { MINUTE_MS } from '../../core/duration.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { RepeatCall, TemporalClient } from '../client/connect.js';
import { type CreatedOrUpdated, createOrUpdate, cronText, specAccepted } from './create-or-update.js';

/** What was done with a Schedule besides the nightly one. `none`: the configuration needs none, and there was none. */
export type AppliedBeside = CreatedOrUpdated['outcome'] | 'deleted' | 'none';

const MAX_INTERVAL_MS = 30 * MINUTE_MS;

/** How often the watcher of a connection looks; `null`: no target needs one (docs/how-to/alerts.md#the-watcher). */
function watchInterval({ notify }: Pick<ConnectionSettings, 'notify'>): Millis | null {
  const maxAges = notify.flatMap(({ maxAgeMs }) => maxAgeMs ?? []);
  if (maxAges.length === 0 && !notify.some(({ on }) => on.includes('behind'))) return null;
  return Math.max(MINUTE_MS, Math.min(MAX_INTERVAL_MS, Math.floor(Math.min(...maxAges) / 4)));
}

/** Creates, updates or deletes the Schedule that looks for stale data and missed runs. Idempotent. */
export async function applyWatcher(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  taskQueue: string,
  repeat: RepeatCall,
): Promise<AppliedBeside> {
  const every = watchInterval(connection);
  if (every === null) return deleteBeside(temporal, watcherId(connection.name), repeat);
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
  return (await createOrUpdate(temporal, options, repeat)).outcome;
}

/** Creates, updates or deletes the Schedule of a connection's audits. Idempotent; does not change whether it is paused. */
export async function applyAudits(
  temporal: TemporalClient,
  { name, audit, schedule }: ConnectionSettings,
  taskQueue: string,
  repeat: RepeatCall,
): Promise<AppliedBeside> {
  const scheduleId = auditId(name);
  if (audit === null) return deleteBeside(temporal, scheduleId, repeat);
  const { cron, sample } = audit;
  const input: ExportInput = { connection: name, dryRun: { audit: sample < 1 ? { sample } : {} } };
  const options: ScheduleOptions = {
    scheduleId,
    spec: { cronExpressions: [cronText(cron)], timezone: schedule.timezone, jitter: schedule.jitterMs },
    action: {
      type: 'startWorkflow',
      workflowType: EXPORT_WORKFLOW,
      // The server appends the nominal start time.
      workflowId: scheduleId,
      taskQueue,
      args: [input],
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: schedule.catchupWindowMs },
  };
  const times = { path: `connections.${name}.audit`, cron, timezone: schedule.timezone };
  return (await specAccepted(times, createOrUpdate(temporal, options, repeat))).outcome;
}

/** Deletes the watcher and the Schedule of audits of a connection, if there are any. */
export async function deleteOthers(
  temporal: TemporalClient,
  connection: string,
  repeat: RepeatCall,
): Promise<void> {
  for (const id of [watcherId(connection), auditId(connection)]) await deleteBeside(temporal, id, repeat);
}

/** After a lost answer, `none` can also mean that the first attempt deleted it. */
async function deleteBeside(
  { client: { schedule } }: TemporalClient,
  scheduleId: string,
  repeat: RepeatCall,
): Promise<'deleted' | 'none'> {
  try {
    await repeat(() => schedule.getHandle(scheduleId).delete());
    return 'deleted';
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return 'none';
    throw error;
  }
}
