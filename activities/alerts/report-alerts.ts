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
import type { EpochMs, Millis } from '../../src/core/brands.js';
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
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/core/duration.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { withTimeout } from '../../src/core/reachability.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { LakeLayoutError } from '../../src/lake/documents/lake-layout.js';
import { type Pointer, readPointer } from '../../src/lake/documents/pointer.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
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
  const names = settings.resources.map(({ name }) => name);
  const maxAges = maxAgesOf(settings, facts);
  const { observations, checks, published } = await lookAtAges(store, names, { maxAges, facts, now });
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
    checkAt: earliest(checks),
    ...(isPaused ? { isPaused } : {}),
  });
}

/** How long the report of ended runs waits for the lake. It reports them in any case. */
const LOOK_MS: Millis = 10 * SECOND_MS;
const READS_AT_ONCE = 8;

/** What is published of some resources. */
interface Ages {
  readonly observations: Observation[];
  /** When data become too old. */
  readonly checks: EpochMs[];
  /** When the snapshots were published. */
  readonly published: EpochMs[];
}

/**
 * Judges the age of what is published. Nothing is known of a resource whose pointer is damaged: its next run fails.
 *
 * @throws StoreError
 */
async function lookAtAges(
  store: ObjectStore,
  names: readonly string[],
  { maxAges, facts, now }: { maxAges: Map<string, Millis>; facts: ScheduleFacts; now: EpochMs },
): Promise<Ages> {
  const createdAt = facts.state === 'active' ? facts.createdAt : null;
  const ages: Ages = { observations: [], checks: [], published: [] };
  const pointers = await inParallel(names, READS_AT_ONCE, (name) => readIntactPointer(store, name));
  for (const [at, name] of names.entries()) {
    const pointer = pointers[at];
    if (pointer === undefined) continue;
    if (pointer !== null) ages.published.push(Date.parse(pointer.publishedAt));
    // A resource that was never published is as old as its Schedule.
    const dataFrom = pointer === null ? createdAt : Date.parse(pointer.checkpoint.updatedSince);
    if (dataFrom === null || maxAges.size === 0) {
      ages.observations.push({ ...anyAge(name, now), quietly: true });
      continue;
    }
    const { observation, checkAt } = observeAge(name, { now, dataFrom, maxAges });
    ages.observations.push(observation);
    if (checkAt !== null) ages.checks.push(checkAt);
  }
  return ages;
}

/** Of a resource whose data may have any age. */
function anyAge(resource: string, asOf: EpochMs): Observation {
  return { resource, covers: ['stale'], problems: [], asOf };
}

/** @returns `undefined` for a damaged pointer */
function readIntactPointer(store: ObjectStore, name: string): Promise<Pointer | null | undefined> {
  return readPointer(store, name).catch((error: unknown) => {
    if (error instanceof SyntaxError || error instanceof LakeLayoutError) return undefined;
    throw error;
  });
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

/** Reports ended runs and write-backs to the workflow that sends alerts. Does nothing for a connection without targets. */
export async function reportAlerts(
  deps: ActivityDeps,
  { connection, runs, writeBack, confirmation }: ReportAlertsInput,
): Promise<void> {
  const { settings, store } = deps.connection(connection);
  if (settings.notify.every(({ on }) => on.length === 0)) return;
  const published = runs.flatMap(({ resource, outcome }) => (outcome === 'published' ? [resource] : []));
  const { observations, ...next } = await afterRuns(store, settings, published);
  await signalAlerts(settings, {
    observations: [
      ...runs.flatMap(observeRun),
      ...observations,
      ...(writeBack === undefined ? [] : [observeWriteBack(writeBack)]),
      ...(confirmation === undefined ? [] : [observeConfirmation(confirmation)]),
    ],
    ...next,
  });
}

/**
 * What published runs have changed: a run has started, and data are newer, unless a list was incomplete or the run was a
 * rollback. After a run of all resources, an earlier check is not needed any more. Never throws: what the runs say is
 * reported in any case.
 */
async function afterRuns(
  store: ObjectStore,
  settings: ConnectionSettings,
  published: readonly string[],
): Promise<Pick<AlertReport, 'observations' | 'checkAt' | 'checkBy'>> {
  if (published.length === 0) return { observations: [] };
  const now = temporalClock()();
  const facts = await scheduleFacts(settings, now);
  const maxAges = maxAgesOf(settings, facts);
  const ages =
    maxAges.size === 0
      ? { observations: published.map((name) => anyAge(name, now)), checks: [] }
      : await withTimeout(lookAtAges(store, published, { maxAges, facts, now }), LOOK_MS).catch(() => ({
          observations: [],
          checks: [now + HOUR_MS],
        }));
  const observations = [HAS_STARTED, ...ages.observations];
  const at = earliest(ages.checks);
  if (settings.resources.every(({ name }) => published.includes(name))) return { observations, checkAt: at };
  return { observations, ...(at !== null && { checkBy: at }) };
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

/** What Temporal knows of the Schedule of a connection. */
type ScheduleFacts =
  /** `unknown`: Temporal did not say, as the test server. */
  | { readonly state: 'none' | 'paused' | 'unknown' }
  | {
      readonly state: 'active';
      readonly createdAt: EpochMs;
      /** The last time when a run should have started by now; `null`: there was none since the last change. */
      readonly dueAt: EpochMs | null;
      /** When the last runs started. Nominal times; a manual start has the time when it was requested. */
      readonly starts: readonly EpochMs[];
      /** The longest time between two runs; `null`: not known. */
      readonly longestGapMs: Millis | null;
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
): Map<string, Millis> {
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
