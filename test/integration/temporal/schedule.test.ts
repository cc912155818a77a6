import { ScheduleOverlapPolicy } from '@temporalio/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { scheduleId } from '../../../src/core/contract/index.js';
import { DAY_MS, MINUTE_MS } from '../../../src/core/duration.js';
import {
  applySchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../../src/temporal/schedule/schedule.js';
import { readStatus } from '../../../src/temporal/status/status.js';
import { holdAnswer } from '../../support/hold.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** Every two seconds, in the form with seconds and years that Temporal takes. */
const OFTEN = '    schedule: { cron: "*/2 * * * * * *", jitter: 0s }\n';

describe('the nightly Schedule', () => {
  let stack: Stack;
  afterEach(async () => {
    await deleteSchedule(stack.temporal, stack.connection).catch(() => {});
    await stack.stop();
  });

  const connection = () => stack.settings.connections[0]!;
  const apply = () => applySchedule(stack.temporal, connection(), stack.taskQueue);
  const described = () => describeSchedule(stack.temporal, stack.connection);

  it('fires, and publishes under the date of its nominal time', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 6 } },
      resources: '[projects]',
      yaml: OFTEN,
    });
    await stack.startWorker();
    expect((await apply()).outcome).toBe('created');
    await until(
      async () => (await stack.store.readIfExists('projects/latest.json' as never)) !== null,
      'it is published',
    );
    await pauseSchedule(stack.temporal, stack.connection);
    const { snapshot } = await readPointer(stack.store, 'projects');
    const { lastRuns } = await described();
    expect(lastRuns.length).toBeGreaterThan(0);
    const dates = lastRuns.map((run) => `dt=${run.scheduledAt.toISOString().slice(0, 10)}`);
    expect(dates.some((date) => snapshot.includes(date))).toBe(true);
    expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(6);

    // The last seconds of yesterday: less than a day ago at every hour, so that the run has that date.
    const late = Math.floor(Date.now() / DAY_MS) * DAY_MS - 4_000;
    const yesterday = new Date(late).toISOString().slice(0, 10);
    await stack.temporal.client.schedule.getHandle(scheduleId(stack.connection)).backfill({
      ...{ start: new Date(late), end: new Date(late + 1_000) },
      overlap: ScheduleOverlapPolicy.ALLOW_ALL,
    });
    await until(
      async () => (await stack.store.listFolders('projects/snapshots/')).includes(`dt=${yesterday}`),
      'a run that is late is published under the date of its nominal time',
    );
  });

  it('the nightly Schedule that starts runs on a task queue without a worker leaves the resource behind schedule', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 2 } },
      resources: '[projects]',
      yaml: OFTEN,
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    await until(() => Date.now() % 2_000 < 1_000, 'the next run starts in a later second');
    await applySchedule(stack.temporal, connection(), `${stack.taskQueue}-unserved`);
    await until(async () => (await described()).lastRuns.length > 0, 'the Schedule has started a run');
    const [lastRun] = (await described()).lastRuns;
    const options = { hasWorker: true, lastScheduled: lastRun!.scheduledAt };
    const read = () => readStatus(stack.temporal, connection(), stack.store, options);
    expect(await read()).toMatchObject([{ state: 'published', behindSince: null }]);
    const now = Date.now;
    const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 11 * MINUTE_MS);
    try {
      const behindSince = lastRun!.scheduledAt.toISOString();
      expect(await read()).toMatchObject([{ state: 'behind-schedule', behindSince }]);
    } finally {
      later.mockRestore();
    }
    for (const { workflowId } of (await described()).lastRuns)
      await stack.temporal.client.workflow.getHandle(workflowId).terminate('end of the test');
  });

  it('skips runs while one is in progress', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 60 } },
      resources: '[projects]',
      yaml: `${OFTEN}    sync: { pageSize: 5 }\n`,
    });
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 2 });
    await stack.startWorker();
    await apply();
    await until(async () => (await described()).skipped >= 2, 'two runs are left out');
    await triggerSchedule(stack.temporal, stack.connection);
    await pauseSchedule(stack.temporal, stack.connection);
    const { raw } = await stack.temporal.client.schedule.getHandle(scheduleId(stack.connection)).describe();
    expect(raw.info!.bufferSize!.toNumber(), 'runs that wait for the long run').toBe(0);
    expect((await described()).lastRuns).toHaveLength(1);
    held.release();
    await until(
      async () => (await stack.store.readIfExists('projects/latest.json' as never)) !== null,
      'it is published',
    );
    // The pages of one reading, and of no second one.
    expect(stack.simulator.admin.stats().byRoute['GET projects']).toBe(12);
  });

  it('is applied twice without a change, shows a change, keeps it if the next one is wrong, pauses and resumes', async () => {
    stack = await startStack({ resources: '[projects]' });
    expect((await apply()).outcome).toBe('created');
    expect(await apply()).toMatchObject({ outcome: 'unchanged', changes: [] });
    const changed = { ...connection(), schedule: { ...connection().schedule, cron: '30 4 * * *' } };
    const updated = await applySchedule(stack.temporal, changed, stack.taskQueue);
    expect(updated.outcome).toBe('updated');
    expect(updated.changes.map((change) => change.setting)).toContain('cron');
    const wrong = { ...changed, schedule: { ...changed.schedule, cron: '30 4 * * FOO' } };
    await expect(applySchedule(stack.temporal, wrong, stack.taskQueue)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      path: `connections.${changed.name}.schedule`,
      message: expect.stringContaining(
        '(cron "30 4 * * FOO", timezone UTC): DayOfWeek is not in range [0-7]',
      ),
    });
    await pauseSchedule(stack.temporal, stack.connection, 'moving house');
    const paused = { paused: true, note: 'moving house', nextRuns: [] };
    expect(await described()).toMatchObject(paused);
    expect(await applySchedule(stack.temporal, changed, stack.taskQueue)).toMatchObject(paused);
    await resumeSchedule(stack.temporal, stack.connection);
    const { nextRuns, note } = await described();
    expect(nextRuns[0]!.getUTCHours()).toBe(4);
    expect(note).toBe('Resumed by worktrack; earlier: moving house');
  });

  it('starts connections at times distributed over the jitter by their names', async () => {
    stack = await startStack({ resources: '[projects]' });
    const names = Array.from({ length: 12 }, (_, i) => `${stack.connection}-${i}`);
    const startsOf = () =>
      Promise.all(
        names.map(async (name) => {
          const applied = await applySchedule(stack.temporal, { ...connection(), name }, stack.taskQueue);
          const [at] = applied.nextRuns;
          return (at!.getTime() - Math.floor(at!.getTime() / 3_600_000) * 3_600_000) / 1000;
        }),
      );
    try {
      const starts = await startsOf();
      // The default jitter is five minutes.
      expect(starts.every((seconds) => seconds >= 0 && seconds < 300)).toBe(true);
      expect(new Set(starts).size).toBe(names.length);
      // Two of three thirds have a start, whatever the names.
      expect(new Set(starts.map((seconds) => Math.floor(seconds / 100))).size).toBeGreaterThan(1);
      expect(await startsOf()).toEqual(starts);
    } finally {
      for (const name of names) await deleteSchedule(stack.temporal, name);
    }
  });
});
