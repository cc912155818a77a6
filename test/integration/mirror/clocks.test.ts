import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { scheduleId } from '../../../src/core/contract/index.js';
import { expectMirrored } from '../../support/mirrored.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const SHIFTED = fileURLToPath(new URL('../../support/shifted-clock.cjs', import.meta.url));
const MINUTE = 60_000;

let stack: Stack;
afterEach(() => stack?.stop());

describe('clocks', () => {
  // `watermark` has service clocks that are off, in both directions.
  it.each(drawn([20, -20], 1))(
    'worker clocks that are %i minutes off are compensated: S3 requests use the clock of S3, and the checkpoint is safe',
    async (minutes) => {
      stack = await startStack({ simulator: { counts: { tasks: 40 } }, resources: '[tasks]' });
      const worker = await startWorkerProcess(stack, {
        NODE_OPTIONS: `--require ${SHIFTED}`,
        WORKTRACK_TEST_CLOCK_OFFSET: String(minutes * MINUTE),
      });
      const started = Date.now();
      const result = await stack.export();
      expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
      await expectMirrored(stack, 'tasks');
      const checkpoint = Date.parse((await readPointer(stack.store, 'tasks')).checkpoint.updatedSince);
      expect(checkpoint).toBeLessThanOrEqual(started);
      expect(checkpoint).toBeGreaterThan(started - 6 * MINUTE);
      await worker.signal('SIGTERM');
    },
  );

  it('service clocks that pass a leap day give checkpoints that the service accepts', async () => {
    stack = await startStack({
      simulator: { now: Date.parse('2028-02-29T00:02:50Z'), counts: { tasks: 30 } },
      resources: '[tasks]',
      yaml: '    sync: { clock: service, reconcileEvery: never }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const checkpoint = async () => (await readPointer(stack.store, 'tasks')).checkpoint.updatedSince;
    await stack.export();
    // Less the time that the first response took.
    const first = await checkpoint();
    expect(first).toMatch(/^2028-02-28T23:57:/);
    admin.advance(24 * 60 * MINUTE);
    admin.touch('tasks', { count: 3, pick: 'spread' });
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'published', counts: { updated: 3 } });
    expect(await checkpoint()).toMatch(/^2028-02-29T23:57:/);
    expect(admin.stats().recent.at(-1)!.path).toContain(`updatedSince=${encodeURIComponent(first)}`);
    await expectMirrored(stack, 'tasks');
  });

  it('clocks that go forward skip a run of a Schedule, as `schedule apply` warns, and repeat no run when they go back', async () => {
    stack = await startStack({
      resources: '[tasks]',
      yaml: '    schedule: { cron: "0 2 * * *", timezone: Europe/Berlin, jitter: 0s }\n',
    });
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const applied = await runCommand(stack, ['schedule', 'apply', ...place]);
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.stderr).toMatch(
      /Warning: on \d{4}-03-\d\d, daylight saving time skips 02:00 in Europe\/Berlin/,
    );

    // The same calendars with a later start, because the server returns only the next few times.
    const { schedule } = stack.temporal.client;
    const { spec } = await schedule.getHandle(scheduleId(stack.connection)).describe();
    const nights = async (startAt: string) => {
      const handle = await schedule.create({
        scheduleId: `${stack.connection}-${startAt}`,
        spec: { calendars: spec.calendars!, timezone: spec.timezone!, startAt: new Date(startAt) },
        action: { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none', args: [] },
        state: { paused: true },
      });
      const { info } = await handle.describe();
      await handle.delete();
      return info.nextActionTimes.slice(0, 3).map((time) => time.toISOString().slice(0, 16));
    };
    expect(await nights('2027-03-27T00:00:00Z')).toEqual([
      '2027-03-27T01:00',
      '2027-03-29T00:00',
      '2027-03-30T00:00',
    ]);
    expect(await nights('2027-10-30T00:00:00Z')).toEqual([
      '2027-10-30T00:00',
      '2027-10-31T01:00',
      '2027-11-01T01:00',
    ]);
    await runCommand(stack, ['schedule', 'delete', ...place]);
  });
});
