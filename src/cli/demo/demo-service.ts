import type { Simulator } from '../../simulator/index.js';

/** Number of records per resource in the simulated service, so that its people work about seven hours a day. */
export function demoCounts(timeEntries: number): Readonly<Record<string, number>> {
  return {
    projects: Math.max(3, Math.ceil(timeEntries / 400)),
    tasks: Math.max(5, Math.ceil(timeEntries / 5)),
    'time-entries': timeEntries,
    'calendar-entries': Math.max(5, Math.ceil(timeEntries / 10)),
    members: Math.max(2, Math.ceil(timeEntries / 320)),
    clients: 5,
  };
}

/**
 * Changes records as users would: books time, corrects some entries, closes tasks, renames a project.
 *
 * @returns the changes in words
 */
export function makeChanges({ admin }: Simulator): string {
  const now = admin.now();
  const project = idsOf(admin.records('projects', 'listed'))[0]!;
  for (let i = 0; i < 25; i++) {
    const start = now - (i + 1) * 1_800_000;
    admin.create('time-entries', {
      projectId: project,
      description: 'Workshop',
      startedAt: new Date(start).toISOString(),
      endedAt: new Date(start + 1_800_000).toISOString(),
      durationSeconds: 1800,
      billable: i % 2 === 0,
    });
  }
  const corrected = spread(idsOf(admin.records('time-entries', 'listed')), 40);
  for (const id of corrected)
    admin.update('time-entries', id, { billable: false, description: 'Internal work' });
  const closed = spread(idsOf(admin.records('tasks', 'listed')), 15);
  for (const id of closed) admin.update('tasks', id, { done: true, estimateSeconds: 900 });
  admin.update('projects', project, { name: 'Website relaunch, phase 2' });
  return `25 entries booked, ${corrected.length} corrected, ${closed.length} tasks closed, 1 project renamed`;
}

function idsOf(records: readonly string[]): string[] {
  return records.map((text) => (JSON.parse(text) as { id: string }).id);
}

/** At most `count` of the items, evenly spaced. Ids sort by time: the newest 100, which were just created, are left out. */
function spread(items: readonly string[], count: number): string[] {
  const old = items.slice(0, Math.max(1, items.length - 100));
  const step = Math.max(1, Math.floor(old.length / count));
  return old.filter((_, i) => i % step === 0).slice(0, count);
}
