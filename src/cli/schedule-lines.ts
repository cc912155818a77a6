import type { AppliedSchedule, DescribedSchedule } from '../temporal/schedule.js';
import type { NightLeftOut } from '../temporal/schedule-gap.js';
import { table } from './text.js';

/** What `schedule apply` did. */
export function appliedLines({ scheduleId, outcome, changes, nextRuns }: AppliedSchedule): string[] {
  return [
    `Schedule ${scheduleId}: ${outcome}`,
    ...table(changes.map(({ setting, before, after }) => [`  ${setting}:`, before, '->', after])),
    ...nextLine(nextRuns),
  ];
}

/** What somebody should know who set a time that the clocks leave out once a year. */
export function leftOutLine({ timezone }: { timezone: string }, { date, time }: NightLeftOut): string {
  return (
    `Warning: on ${date} the clocks of ${timezone} go forward past ${time}, so no run starts that night; the next one ` +
    'brings its changes. Choose an hour that always comes, or the time zone UTC.'
  );
}

export function describedLines(described: DescribedSchedule): string[] {
  const { scheduleId, cron, timezone, paused, note, nextRuns, lastRuns, skipped } = described;
  return [
    `Schedule ${scheduleId}: ${cron} (${timezone})${paused ? ', paused' : ''}`,
    ...(note === null ? [] : [`  note: ${note}`]),
    ...nextLine(nextRuns),
    ...(skipped === 0 ? [] : [`  ${skipped} skipped because the run before was still going on`]),
    ...(lastRuns.length === 0 ? ['  no runs yet'] : ['  last runs:']),
    ...table(
      lastRuns.map(({ scheduledAt, outcome, workflowId }) => [
        `    ${iso(scheduledAt)}`,
        outcome,
        workflowId,
      ]),
    ),
  ];
}

function nextLine(times: readonly Date[]): string[] {
  return times.length === 0 ? [] : [`  next runs: ${times.map(iso).join(', ')}`];
}

function iso(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
