import { randomUUID } from 'node:crypto';
import {
  type ScheduleDescription,
  type ScheduleExecutionResult,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { scheduleTimes } from '../../../activities/alerts/schedule-times.js';
import {
  DEFAULT_TASK_QUEUE,
  EXPORT_WORKFLOW,
  type ExportInput,
  exportWorkflowId,
  type RunOutcome,
  scheduleId,
} from '../../core/contract/index.js';
import { SCHEDULE_GRACE_MS } from '../../core/data-age.js';
import { DAY_MS } from '../../core/duration.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { callOnce, type RepeatCall, type TemporalClient, withDeadline } from '../client/connect.js';
import { exportResultOf } from '../client/export-result.js';
import {
  type ConfiguredTimes,
  type CreatedOrUpdated,
  createOrUpdate,
  cronOf,
  cronText,
  specAccepted,
} from './create-or-update.js';
import { type AppliedBeside, applyAudits, applyWatcher, deleteOthers } from './other-schedules.js';

const LAST_RUNS = 5;
const NEXT_RUNS = 3;

export interface AppliedSchedule extends Pick<CreatedOrUpdated, 'outcome' | 'changes'> {
  readonly scheduleId: string;
  /** Whether someone has paused it, which applying does not change. */
  readonly paused: boolean;
  readonly note: string | null;
  /** Empty while it is paused. */
  readonly nextRuns: readonly Date[];
  /** The Schedule that looks for stale data and missed runs (docs/how-to/alerts.md#the-watcher). */
  readonly watcher: AppliedBeside;
  /** The Schedule of audits (docs/how-to/audit.md#audits-by-a-schedule). */
  readonly audit: AppliedBeside;
}

export interface DescribedSchedule {
  readonly scheduleId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly paused: boolean;
  readonly note: string | null;
  readonly nextRuns: readonly Date[];
  /** Newest first. */
  readonly lastRuns: readonly ScheduledRun[];
  /** Number of runs skipped because the previous run was still in progress. */
  readonly skipped: number;
}

/** A run that a Schedule started. */
export interface ScheduledRun {
  readonly workflowId: string;
  /** The nominal start time. */
  readonly scheduledAt: Date;
  readonly startedAt: Date;
  /** `gone`: the server no longer retains the workflow. */
  readonly outcome: RunOutcome | 'running' | 'gone';
}

/** The Schedule options of a connection's configuration. */
function scheduleOptions({ name, schedule }: ConnectionSettings, taskQueue: string) {
  const input: ExportInput = { connection: name };
  return {
    spec: {
      cronExpressions: [cronText(schedule.cron)],
      timezone: schedule.timezone,
      // The server derives each delay from the Schedule's id, and so from the connection's name, and from the nominal time.
      jitter: schedule.jitterMs,
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: EXPORT_WORKFLOW,
      // The server appends the nominal start time.
      workflowId: exportWorkflowId(name),
      taskQueue,
      args: [input],
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      catchupWindow: schedule.catchupWindowMs,
      pauseOnFailure: schedule.pauseOnFailure,
    },
  };
}

/**
 * Creates the nightly Schedule of a connection, or updates it to match the configuration, and its watcher, if alerts need
 * one. Idempotent; does not change whether the Schedule is paused.
 *
 * @param repeat repeats a call to the server that does not answer. Default: each call is made once
 * @throws ConfigurationError if the server rejects the cron expression or the time zone
 * @example
 * const { outcome, nextRuns } = await applySchedule(temporal, connection);
 * console.log(outcome, nextRuns[0]);
 */
export async function applySchedule(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  taskQueue: string = DEFAULT_TASK_QUEUE,
  repeat: RepeatCall = callOnce,
): Promise<AppliedSchedule> {
  const id = scheduleId(connection.name);
  const options = { scheduleId: id, ...scheduleOptions(connection, taskQueue) };
  const nightly = createOrUpdate(temporal, options, repeat);
  const { after, ...applied } = await specAccepted(specOf(connection), nightly);
  const watcher = await applyWatcher(temporal, connection, taskQueue, repeat);
  const audit = await applyAudits(temporal, connection, taskQueue, repeat);
  return { scheduleId: id, ...applied, ...plannedRuns(after), watcher, audit };
}

/** The next runs. The server lists times even if the Schedule is paused. */
function plannedRuns({
  state,
  info,
}: Pick<ScheduleDescription, 'state' | 'info'>): Pick<AppliedSchedule, 'paused' | 'note' | 'nextRuns'> {
  return {
    paused: state.paused,
    note: state.note || null,
    nextRuns: state.paused ? [] : info.nextActionTimes.slice(0, NEXT_RUNS),
  };
}

/**
 * Asks the server whether it accepts the schedule of a connection, and when it would run: creates a paused Schedule with an
 * separate id, which starts no run, and deletes it.
 *
 * @returns the next times; empty if the schedule never runs
 * @throws ConfigurationError if the server rejects the cron expression or the time zone
 * @example
 * const [next] = await askForTimes(temporal, connection);
 */
export async function askForTimes(
  temporal: TemporalClient,
  connection: ConnectionSettings,
): Promise<readonly Date[]> {
  const handle = await specAccepted(
    specOf(connection),
    temporal.client.schedule.create({
      ...scheduleOptions(connection, DEFAULT_TASK_QUEUE),
      scheduleId: `worktrack/${connection.name}/config-check/${randomUUID()}`,
      state: { paused: true, note: 'created by `worktrack config check`, which deletes it immediately' },
    }),
  );
  try {
    return (await handle.describe()).info.nextActionTimes.slice(0, NEXT_RUNS);
  } finally {
    await handle.delete();
  }
}

/** Where the times of the nightly Schedule are configured. */
function specOf({ name, schedule }: ConnectionSettings): ConfiguredTimes {
  return { path: `connections.${name}.schedule`, ...schedule };
}

/**
 * Reads the nightly Schedule of a connection: its times, its last and next runs, and whether it is paused.
 *
 * @throws ScheduleNotFoundError
 * @example
 * const { cron, paused, nextRuns } = await describeSchedule(temporal, 'acme');
 */
export async function describeSchedule(
  temporal: TemporalClient,
  connection: string,
): Promise<DescribedSchedule> {
  const described = await handleOf(temporal, connection).describe();
  const { spec, info } = described;
  const recent = info.recentActions.slice(-LAST_RUNS).reverse();
  return {
    scheduleId: scheduleId(connection),
    cron: cronOf(spec),
    timezone: spec.timezone ?? 'UTC',
    ...plannedRuns(described),
    lastRuns: await Promise.all(recent.map((action) => scheduledRun(temporal, action))),
    skipped: info.numActionsSkippedOverlap,
  };
}

async function scheduledRun(
  temporal: TemporalClient,
  { scheduledAt, takenAt, action }: ScheduleExecutionResult,
): Promise<ScheduledRun> {
  const { workflowId, firstExecutionRunId } = action.workflow;
  const handle = temporal.client.workflow.getHandle(workflowId, firstExecutionRunId);
  return { workflowId, scheduledAt, startedAt: takenAt, outcome: await scheduledOutcome(handle) };
}

async function scheduledOutcome(handle: WorkflowHandle): Promise<ScheduledRun['outcome']> {
  try {
    const { status } = await handle.describe();
    if (status.name === 'RUNNING') return 'running';
    if (status.name !== 'COMPLETED') await handle.result();
    return 'published';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    return exportResultOf(error, []).outcome;
  }
}

/** The next nightly run. */
export type NextScheduled = (
  | { readonly state: 'due'; readonly at: Date }
  | { readonly state: 'paused'; readonly note: string | null }
  | { readonly state: 'none' }
) & {
  /** Nominal start of the last run that the Schedule started; absent: none yet. */
  readonly last?: Date;
  /** When it was due in the last week, even if it was paused, oldest first; absent: not known. */
  readonly due?: readonly Date[];
};

/** When a connection's Schedule starts its next run. @throws an SDK error if Temporal does not answer in time */
export async function nextScheduled(temporal: TemporalClient, connection: string): Promise<NextScheduled> {
  try {
    const { state, info } = await withDeadline(temporal, () => handleOf(temporal, connection).describe());
    const newest = info.recentActions.at(-1)?.scheduledAt;
    const due = await dueSince(temporal, connection, info.lastUpdatedAt ?? info.createdAt).catch(() => null);
    const last = { ...(newest === undefined ? {} : { last: newest }), ...(due === null ? {} : { due }) };
    if (state.paused) return { state: 'paused', note: state.note || null, ...last };
    const [at] = info.nextActionTimes;
    return at === undefined ? { state: 'none', ...last } : { state: 'due', at, ...last };
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    return { state: 'none' };
  }
}

/** The starts that the server lists at most. With more of them, none is known. */
const MAX_DUE = 1000;

/** When a Schedule was due in the last week; times before it had its present form are not known. */
async function dueSince(temporal: TemporalClient, connection: string, changed: Date): Promise<Date[] | null> {
  const now = Date.now();
  const from = Math.max(now - 7 * DAY_MS, changed.getTime());
  const times = await withDeadline(temporal, () =>
    scheduleTimes(temporal.client, scheduleId(connection), from, now - SCHEDULE_GRACE_MS),
  );
  return times.length >= MAX_DUE ? null : times.map((time) => new Date(time));
}

/**
 * Starts a run now, unless one is in progress; by default, `trigger` would let them overlap.
 *
 * @throws ScheduleNotFoundError
 * @example
 * await triggerSchedule(temporal, 'acme');
 */
export function triggerSchedule(temporal: TemporalClient, connection: string): Promise<void> {
  return handleOf(temporal, connection).trigger(ScheduleOverlapPolicy.SKIP);
}

/**
 * Pauses the nightly Schedule. A run in progress continues. Earlier notes are kept after the new one.
 *
 * @throws ScheduleNotFoundError
 * @example
 * await pauseSchedule(temporal, 'acme', 'audit until Friday');
 */
export async function pauseSchedule(
  temporal: TemporalClient,
  connection: string,
  note = 'Paused by worktrack',
): Promise<void> {
  const handle = handleOf(temporal, connection);
  await handle.pause(addNote((await handle.describe()).state.note, note));
}

/**
 * Resumes a paused Schedule. Earlier notes are kept after the new one.
 *
 * @throws ScheduleNotFoundError
 * @example
 * await resumeSchedule(temporal, 'acme', 'audit has ended');
 */
export async function resumeSchedule(
  temporal: TemporalClient,
  connection: string,
  note = 'Resumed by worktrack',
): Promise<void> {
  const handle = handleOf(temporal, connection);
  await handle.unpause(addNote((await handle.describe()).state.note, note));
}

/**
 * Deletes the Schedule, its watcher and the Schedule of audits; a run in progress continues.
 *
 * @param repeat repeats a call to the server that does not answer. Default: each call is made once
 * @throws ScheduleNotFoundError
 * @example
 * await deleteSchedule(temporal, 'acme');
 */
export async function deleteSchedule(
  temporal: TemporalClient,
  connection: string,
  repeat: RepeatCall = callOnce,
): Promise<void> {
  // Others without a nightly Schedule are removed as well.
  await deleteOthers(temporal, connection, repeat);
  let attempts = 0;
  try {
    await repeat(() => {
      attempts++;
      return handleOf(temporal, connection).delete();
    });
  } catch (error) {
    // The answer to the first attempt was lost.
    if (!(error instanceof ScheduleNotFoundError) || attempts === 1) throw error;
  }
}

function handleOf(temporal: TemporalClient, connection: string): ScheduleHandle {
  return temporal.client.schedule.getHandle(scheduleId(connection));
}

const SEPARATOR = '; earlier: ';
/** Older notes are dropped, because a Schedule is described often. */
const MAX_NOTES = 5;

/** A Schedule has one note. The new one comes first; the same note twice in a row is kept once. */
export function addNote(before: string | undefined, note: string): string {
  const earlier = (before ?? '').split(SEPARATOR).filter((one) => one !== '');
  if (earlier[0] === note) earlier.shift();
  return [note, ...earlier].slice(0, MAX_NOTES).join(SEPARATOR);
}
