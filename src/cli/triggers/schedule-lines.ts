import { toUtcSeconds } from '../../lake/run/watermark.js';
import type { AppliedSchedule, DescribedSchedule } from '../../temporal/schedule/schedule.js';
import type { SkippedNight } from '../../temporal/schedule/skipped-night.js';
import { age, table } from '../shared/text.js';

/** The result of `schedule apply`. */
export function appliedLines({ scheduleId, outcome, changes, nextRuns, watcher }: AppliedSchedule): string[] {
  return [
    `Schedule ${scheduleId}: ${outcome}`,
    ...table(changes.map(({ setting, before, after }) => [`  ${setting}:`, before, '->', after])),
    ...nextLine(nextRuns),
    ...(watcher === 'none' ? [] : [`  watcher for alerts: ${watcher}`]),
  ];
}

/** Warns of a day without a run because the time does not exist when daylight saving time begins. */
export function skippedNightLine({ timezone }: { timezone: string }, { date, time }: SkippedNight): string {
  return (
    `Warning: on ${date}, daylight saving time skips ${time} in ${timezone}, so no run starts that night. The next run ` +
    'reads its changes. Choose an hour that always exists, or the time zone UTC.'
  );
}

export function describedLines(described: DescribedSchedule): string[] {
  const { scheduleId, cron, timezone, paused, note, nextRuns, lastRuns, skipped } = described;
  return [
    `Schedule ${scheduleId}: ${cron} (${timezone})${paused ? ', paused' : ''}`,
    ...(note === null ? [] : [`  note: ${note}`]),
    ...nextLine(nextRuns),
    ...(skipped === 0 ? [] : [`  ${skipped} skipped because the previous run was still in progress`]),
    ...(lastRuns.length === 0 ? ['  no runs yet'] : ['  last runs:']),
    ...table(
      lastRuns.map(({ scheduledAt, outcome, workflowId }) => [
        `    ${toUtcSeconds(scheduledAt.getTime())}`,
        outcome,
        workflowId,
      ]),
    ),
  ];
}

/** When the next run starts, for one line. @param now milliseconds since 1970 */
export function nextText([next]: readonly Date[], now: number = Date.now()): string {
  return next === undefined ? 'no next run' : `next run in ${age(next.getTime() - now)}`;
}

function nextLine(times: readonly Date[]): string[] {
  return times.length === 0
    ? []
    : [`  next runs: ${times.map((time) => toUtcSeconds(time.getTime())).join(', ')}`];
}
