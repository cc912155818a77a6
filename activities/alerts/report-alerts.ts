import { activityInfo, getClient } from '@temporalio/activity';
import { ScheduleNotFoundError } from '@temporalio/client';
import {
  HAS_STARTED,
  longestGap,
  observeAge,
  observeConfirmation,
  observeRun,
  observeSchedule,
  observeWriteBack,
  WHOLE_CONNECTION,
  withinBudget,
} from '../../src/core/alerts/index.js';
import { newAlerts } from '../../src/core/alerts/message-rules.js';
import type { Observation } from '../../src/core/contract/alerts.js';
import {
  ALERTS_SIGNAL,
  ALERTS_WORKFLOW,
  type AlertReport,
  alertsWorkflowId,
  type ReportAlertsInput,
  scheduleId,
  type WatchInput,
} from '../../src/core/contract/index.js';
import { SCHEDULE_GRACE_MS } from '../../src/core/data-age.js';
import { DAY_MS, HOUR_MS } from '../../src/core/duration.js';
import { parseRunDate } from '../../src/core/run-id.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { readPointer } from '../../src/lake/documents/pointer.js';
import { temporalClock } from '../../src/run/activity-context.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { lastDue, scheduleTimes } from './schedule-times.js';

/**
 * Looks whether the data of a connection have become stale, and whether its Schedule is behind, and reports it to the
 * workflow that sends alerts. `latest.json` has the checkpoint, whoever published it.
 */
export async function watchConnection(deps: ActivityDeps, { connection, always }: WatchInput): Promise<void> {
  const { settings, store } = deps.connection(connection);
  const now = temporalClock()();
  const facts = await scheduleFacts(settings, now);
  const maxAges = maxAgesOf(settings, facts);
  const createdAt = facts.state === 'active' ? facts.createdAt : null;
  const observations: Observation[] = [];
  const checks: number[] = [];
  const published: number[] = [];
  for (const { name } of settings.resources) {
    const pointer = await readPointer(store, name);
    if (pointer !== null) published.push(Date.parse(pointer.publishedAt));
    // A resource that was never published is as old as its Schedule.
    const dataFrom = pointer === null ? createdAt : Date.parse(pointer.checkpoint.updatedSince);
    if (dataFrom === null || maxAges.size === 0) {
      observations.push({ resource: name, covers: ['stale'], problems: [], quietly: true });
      continue;
    }
    const { observation, checkAt } = observeAge(name, { now, dataFrom, maxAges });
    observations.push(observation);
    if (checkAt !== null) checks.push(checkAt);
  }
  if (facts.state === 'active') {
    const started = [...facts.starts, ...published];
    const observation = observeSchedule(facts.dueAt, started.length === 0 ? null : Math.max(...started), now);
    observations.push(observation);
    // Whatever becomes of the watcher, the end is noticed.
    if (observation.problems.length > 0) checks.push(now + HOUR_MS);
  } else if (facts.state !== 'unknown')
    observations.push({ resource: WHOLE_CONNECTION, covers: ['behind'], problems: [], quietly: true });
  const isPaused = facts.state === 'none' || facts.state === 'paused';
  // The end of a problem is found by a published run, or by a check of the workflow that sends the alerts.
  if (always !== true && !isPaused && observations.every(({ problems }) => problems.length === 0)) return;
  await signalAlerts(settings, {
    observations,
    checkAt: checks.length === 0 ? null : Math.min(...checks),
    ...(isPaused ? { isPaused } : {}),
  });
}

/** Reports ended runs and write-backs to the workflow that sends alerts. Does nothing for a connection without targets. */
export async function reportAlerts(
  deps: ActivityDeps,
  { connection, runs, writeBack, confirmation, together }: ReportAlertsInput,
): Promise<void> {
  const { settings } = deps.connection(connection);
  if (settings.notify.every(({ on }) => on.length === 0)) return;
  const observations = [
    ...runs.flatMap(observeRun),
    ...(runs.some(({ outcome }) => outcome === 'published') ? [HAS_STARTED] : []),
    ...(writeBack === undefined ? [] : [observeWriteBack(writeBack)]),
    ...(confirmation === undefined ? [] : [observeConfirmation(confirmation)]),
  ];
  await signalAlerts(settings, {
    observations,
    ...(await nextCheck(settings, runs, temporalClock()())),
    ...(together === undefined ? {} : { together }),
  });
}

/** When the data can have become stale. After a run of all resources, an earlier check is not needed any more. */
async function nextCheck(
  settings: ConnectionSettings,
  runs: ReportAlertsInput['runs'],
  now: number,
): Promise<Pick<AlertReport, 'checkAt' | 'checkBy'>> {
  const published = runs.filter(({ outcome }) => outcome === 'published');
  if (published.length === 0) return {};
  const maxAges = maxAgesOf(settings, await scheduleFacts(settings, now));
  // The data is as old as the start of its run, or a little older, so it is too old at the time of the check.
  const starts = published.map(({ runId }) => (runId === null ? now : parseRunDate(runId)));
  const at = maxAges.size === 0 ? null : Math.min(...starts) + Math.min(...maxAges.values()) + 1;
  const names = published.map(({ resource }) => resource);
  if (settings.resources.every(({ name }) => names.includes(name))) return { checkAt: at };
  return at === null ? {} : { checkBy: at };
}

/** Reports to the workflow that sends the alerts of this task queue, and starts it if it is not running. */
async function signalAlerts(
  { name, notify, resources }: ConnectionSettings,
  observed: Omit<AlertReport, 'connection' | 'targets' | 'resources'>,
): Promise<void> {
  const report: AlertReport = {
    connection: name,
    targets: notify
      .filter(({ on }) => on.length > 0)
      .map(({ id, on, format }) => ({ id, on, incidents: format === 'pagerduty' })),
    resources: resources.map((resource) => resource.name),
    ...observed,
    observations: withinBudget(observed.observations),
  };
  const { taskQueue } = activityInfo();
  await getClient().workflow.signalWithStart(ALERTS_WORKFLOW, {
    workflowId: alertsWorkflowId(taskQueue),
    taskQueue,
    args: [newAlerts()],
    signal: ALERTS_SIGNAL,
    signalArgs: [report],
    staticSummary: 'Alerts of all connections',
  });
}

/** What Temporal knows of the Schedule of a connection. Times are milliseconds since 1970. */
type ScheduleFacts =
  /** `unknown`: Temporal did not say, as the test server. */
  | { readonly state: 'none' | 'paused' | 'unknown' }
  | {
      readonly state: 'active';
      readonly createdAt: number;
      /** The last time when a run should have started by now; `null`: there was none since the last change. */
      readonly dueAt: number | null;
      /** When the last runs started. Nominal times; a manual start has the time when it was requested. */
      readonly starts: readonly number[];
      /** The longest time between two runs; `null`: not known. */
      readonly longestGapMs: number | null;
    };

/** Periods that are searched for the next due times, until there are enough. */
const PERIODS_MS = [35 * DAY_MS, 400 * DAY_MS, 1500 * DAY_MS];

/** Describes the Schedule of a connection. Never throws: without an answer, nothing is known. */
async function scheduleFacts(connection: ConnectionSettings, now: number): Promise<ScheduleFacts> {
  if (connection.notify.every(needsNoSchedule)) return { state: 'unknown' };
  const id = scheduleId(connection.name);
  try {
    const described = await getClient().schedule.getHandle(id).describe();
    if (described.state.paused) return { state: 'paused' };
    const { createdAt, lastUpdatedAt } = described.info;
    const changedAt = (lastUpdatedAt ?? createdAt).getTime();
    const until = now - SCHEDULE_GRACE_MS - connection.schedule.jitterMs;
    const times = (from: number, to: number) => scheduleTimes(getClient(), id, from, to);
    return {
      state: 'active',
      createdAt: createdAt.getTime(),
      dueAt: await lastDue(times, changedAt, until),
      starts: described.info.recentActions.map(({ scheduledAt }) => scheduledAt.getTime()),
      longestGapMs: await longestGapFrom(id, now),
    };
  } catch (error) {
    return { state: error instanceof ScheduleNotFoundError ? 'none' : 'unknown' };
  }
}

function needsNoSchedule({ on, maxAgeMs }: ConnectionSettings['notify'][number]): boolean {
  return !on.includes('behind') && (maxAgeMs !== null || !on.includes('stale'));
}

async function longestGapFrom(id: string, now: number): Promise<number | null> {
  for (const period of PERIODS_MS) {
    const times = await scheduleTimes(getClient(), id, now, now + period);
    if (times.length >= 3) return longestGap(times);
  }
  return null;
}

/** How old the data may be for each target with `stale`, in ms, by the target's id. Left out: any age. */
function maxAgesOf(
  { notify, retries }: Pick<ConnectionSettings, 'notify' | 'retries'>,
  facts: ScheduleFacts,
): Map<string, number> {
  const standard =
    facts.state === 'active' && facts.longestGapMs !== null
      ? facts.longestGapMs + retries.giveUpAfterMs
      : null;
  return new Map(
    notify.flatMap(({ id, on, maxAgeMs }) => {
      const maxAge = maxAgeMs ?? standard;
      return on.includes('stale') && maxAge !== null ? [[id, maxAge] as const] : [];
    }),
  );
}
