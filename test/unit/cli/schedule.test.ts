import type { ScheduleDescription } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { appliedLines, describedLines } from '../../../src/cli/triggers/schedule-command.js';
import { isEditedByHand, scheduleChanges } from '../../../src/temporal/schedule/create-or-update.js';

const described = {
  spec: { calendars: [{ hour: [{ start: 2, end: 2, step: 1 }], comment: '0 2 * * *' }], jitter: 300_000 },
  action: {
    type: 'startWorkflow',
    workflowType: 'exportWorkflow',
    workflowId: 'worktrack/acme/export',
    taskQueue: 'worktrack',
    args: [{ connection: 'acme' }],
  },
  policies: { overlap: 'SKIP', catchupWindow: 86_400_000, pauseOnFailure: false },
} as unknown as ScheduleDescription;

describe('the changes of a Schedule', () => {
  it('are empty for equal Schedules', () => {
    expect(scheduleChanges(described, structuredClone(described))).toEqual([]);
  });

  it('are listed by setting, in the terms of the configuration', () => {
    const after = structuredClone(described) as ScheduleDescription & { spec: { timezone: string } };
    after.spec.calendars![0]!.comment = '0 3 * * *';
    after.spec.timezone = 'Europe/Berlin';
    after.spec.jitter = 0;
    expect(scheduleChanges(described, after)).toEqual([
      { setting: 'cron', before: '0 2 * * *', after: '0 3 * * *' },
      { setting: 'timezone', before: 'UTC', after: 'Europe/Berlin' },
      { setting: 'jitter', before: '5m', after: '0s' },
    ]);
  });

  it('show a manual edit, which keeps the comment', () => {
    const after = structuredClone(described);
    after.spec.calendars![0]!.hour = [{ start: 4, end: 4, step: 1 }];
    expect(isEditedByHand(described.spec, after.spec)).toBe(true);
    expect(isEditedByHand(described.spec, structuredClone(described).spec)).toBe(false);
  });
});

describe('what the schedule commands print', () => {
  const next = [new Date('2026-11-22T02:00:00.500Z')];
  const applied = {
    scheduleId: 'worktrack/acme/nightly',
    outcome: 'unchanged',
    changes: [],
    watcher: 'none',
    audit: 'none',
  } as const;

  it('is one line with the next runs if nothing changed', () => {
    expect(appliedLines({ ...applied, paused: false, note: null, nextRuns: next })).toEqual([
      'Schedule worktrack/acme/nightly: unchanged',
      '  next runs: 2026-11-22T02:00:00Z',
    ]);
  });

  it('says that a Schedule is paused, and how to resume it', () => {
    const paused = { ...applied, paused: true, nextRuns: [] };
    expect(appliedLines({ ...paused, note: 'moving house' })).toEqual([
      'Schedule worktrack/acme/nightly: unchanged',
      '  paused (moving house); resume it with `worktrack schedule resume`',
    ]);
    expect(appliedLines({ ...paused, note: null }, ' --connection acme')[1]).toBe(
      '  paused; resume it with `worktrack schedule resume --connection acme`',
    );
  });

  it('shows the outcome of the last runs', () => {
    const lines = describedLines({
      scheduleId: 'worktrack/acme/nightly',
      cron: '0 2 * * *',
      timezone: 'UTC',
      paused: true,
      note: 'holiday',
      nextRuns: [],
      lastRuns: [{ workflowId: 'w', scheduledAt: next[0]!, startedAt: next[0]!, outcome: 'refused' }],
      skipped: 2,
    });
    expect(lines[0]).toContain('paused');
    expect(lines.join('\n')).toContain('holiday');
    expect(lines.join('\n')).toMatch(/2026-11-22T02:00:00Z +refused +w/);
    expect(lines.join('\n')).toContain('2 skipped');
  });
});
