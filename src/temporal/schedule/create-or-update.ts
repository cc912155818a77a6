import {
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  type ScheduleOptions,
} from '@temporalio/client';
import { formatDuration } from '../../core/duration.js';
import { ConfigurationError } from '../../core/errors.js';
import { callOnce, type RepeatCall, type TemporalClient } from '../client/connect.js';

/** One setting of a Schedule that `apply` changed, as text for the user. */
export interface ScheduleChange {
  readonly setting: string;
  readonly before: string;
  readonly after: string;
}

/** The part of a Schedule that the configuration determines; the operator controls the rest (pause, note). */
type ConfiguredPart = Pick<ScheduleDescription, 'spec' | 'action' | 'policies'>;

export interface CreatedOrUpdated {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  /** Empty unless updated. */
  readonly changes: readonly ScheduleChange[];
  readonly after: ScheduleDescription;
}

/**
 * Creates a Schedule, or updates it to match the options. Idempotent; does not change whether it is paused. The outcome is that of
 * the first look, even if a call is repeated because its answer was lost.
 */
export async function createOrUpdate(
  { client: { schedule } }: TemporalClient,
  options: ScheduleOptions,
  repeat: RepeatCall = callOnce,
): Promise<CreatedOrUpdated> {
  const handle = schedule.getHandle(options.scheduleId);
  const describe = () => handle.describe();
  const update = () => handle.update(({ state }) => ({ ...options, state }));
  // Both states are read from the server, because it normalizes the Schedule.
  const before = await repeat(describe).catch(unlessMissing);
  if (before === null) {
    try {
      await repeat(() => schedule.create(options));
    } catch (error) {
      // It exists since the first look: by an attempt whose answer was lost, or by another command.
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await repeat(update);
    }
    return { outcome: 'created', changes: [], after: await repeat(describe) };
  }
  await repeat(update);
  const after = await repeat(describe);
  const changes = scheduleChanges(before, after);
  if (isEditedByHand(before.spec, after.spec))
    changes.unshift({ setting: 'cron', before: 'edited manually', after: cronOf(after.spec) });
  return { outcome: changes.length === 0 ? 'unchanged' : 'updated', changes, after };
}

function unlessMissing(error: unknown): null {
  if (error instanceof ScheduleNotFoundError) return null;
  throw error;
}

/** The differences between two states of a Schedule, both as described by the server. */
export function scheduleChanges(before: ConfiguredPart, after: ConfiguredPart): ScheduleChange[] {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  return Object.keys(now).flatMap((setting) => {
    const [was, is] = [old[setting] ?? 'none', now[setting] ?? 'none'];
    return was === is ? [] : [{ setting, before: was, after: is }];
  });
}

function settingsOf({ spec, action, policies }: ConfiguredPart): Record<string, string> {
  return {
    cron: cronOf(spec),
    timezone: spec.timezone ?? 'UTC',
    jitter: formatDuration(spec.jitter ?? 0),
    overlap: policies.overlap ?? 'none',
    catchupWindow: formatDuration(policies.catchupWindow),
    pauseOnFailure: String(policies.pauseOnFailure),
    workflow: action.workflowType,
    workflowId: action.workflowId ?? 'none',
    taskQueue: action.taskQueue ?? 'none',
    input: JSON.stringify(action.args ?? []),
  };
}

/** The cron expression of a spec. The server converts it to a calendar and keeps the text only in the comment. */
export function cronOf({ calendars = [], intervals = [] }: ConfiguredPart['spec']): string {
  const texts = calendars.map(({ comment, ...calendar }) => {
    const text = JSON.stringify(calendar);
    return comment === undefined || comment === '' ? text : comment;
  });
  return [...texts, ...intervals.map(({ every }) => `@every ${formatDuration(every)}`)].join(' and ');
}

/** A cron expression for a spec. The server does not keep it, but it keeps a comment after `#`. */
export function cronText(cron: string): string {
  return cron.startsWith('@') ? cron : `${cron} # ${cron}`;
}

/** Whether the calendars differ although their comments are equal, because someone edited them manually. */
export function isEditedByHand(before: ConfiguredPart['spec'], after: ConfiguredPart['spec']): boolean {
  const plain = ({ calendars, intervals }: ConfiguredPart['spec']): string =>
    JSON.stringify([calendars, intervals]);
  return cronOf(before) === cronOf(after) && plain(before) !== plain(after);
}

/** Times of a Schedule, and where they are configured. */
export interface ConfiguredTimes {
  /** Such as `connections.acme.schedule`. */
  readonly path: string;
  readonly cron: string;
  readonly timezone: string;
}

/** @throws ConfigurationError with the server's reason if it rejects the times */
export async function specAccepted<T>(
  { path, cron, timezone }: ConfiguredTimes,
  call: Promise<T>,
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    // The SDK throws a TypeError with the server's reason for an invalid spec.
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigurationError(
      `Temporal rejects ${path} (cron ${JSON.stringify(cron)}, timezone ${timezone}): ${error.message}`,
      { path, remedy: `Correct ${path} in the configuration.`, cause: error },
    );
  }
}
