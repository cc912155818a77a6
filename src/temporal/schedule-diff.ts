import type { ScheduleDescription } from '@temporalio/client';
import { formatDuration } from '../core/duration.js';

/** One setting of a Schedule that `apply` changed, in words for a person. */
export interface ScheduleChange {
  readonly setting: string;
  readonly before: string;
  readonly after: string;
}

/** The part of a Schedule that the configuration decides; the rest (pause, note, history) belongs to the operator. */
type Decided = Pick<ScheduleDescription, 'spec' | 'action' | 'policies'>;

/** What differs between two states of a Schedule, in both as the server describes them. */
export function scheduleChanges(before: Decided, after: Decided): ScheduleChange[] {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  return Object.keys(now).flatMap((setting) => {
    const [was, is] = [old[setting] ?? 'none', now[setting] ?? 'none'];
    return was === is ? [] : [{ setting, before: was, after: is }];
  });
}

function settingsOf({ spec, action, policies }: Decided): Record<string, string> {
  return {
    cron: whenOf(spec),
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

/** The server keeps no cron text but the calendar that it stands for; the text is in the calendar's comment. */
export function whenOf({ calendars = [], intervals = [] }: Decided['spec']): string {
  const texts = calendars.map(({ comment, ...calendar }) => {
    const text = JSON.stringify(calendar);
    return comment === undefined || comment === '' ? text : comment;
  });
  return [...texts, ...intervals.map(({ every }) => `@every ${formatDuration(every)}`)].join(' and ');
}

/** Whether the calendars differ though their comments are the same: somebody edited them by hand. */
export function isEditedByHand(before: Decided['spec'], after: Decided['spec']): boolean {
  const plain = ({ calendars, intervals }: Decided['spec']): string => JSON.stringify([calendars, intervals]);
  return whenOf(before) === whenOf(after) && plain(before) !== plain(after);
}
