import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { SCHEDULE_GRACE_MS } from '../../../src/core/data-age.js';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import {
  applySchedule,
  describeSchedule,
  nextScheduled,
  pauseSchedule,
  resumeSchedule,
} from '../../../src/temporal/schedule/schedule.js';
import { readRunLog } from '../../../src/temporal/status/run-log.js';
import { readStatus } from '../../../src/temporal/status/status.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { freePort } from '../../support/ports.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** A night takes three seconds here. */
const NIGHT_MS = 3_000;
const CRON = '*/3 * * * * * *';

describe('a Schedule whose nights are missed', () => {
  let temporal: TemporalDevServer;
  let stack: Stack;
  afterEach(async () => {
    await stack?.stop();
    await temporal?.stop();
  });

  const connection = () => stack.settings.connections[0]!;
  const described = () => describeSchedule(stack.temporal, stack.connection);
  const published = async () => {
    const request = { resources: ['projects'], limit: 50 };
    const log = await readRunLog(stack.temporal, connection(), stack.store, request);
    return log
      .flat()
      .filter(({ outcome }) => outcome === 'published')
      .map(({ runId }) => runId!);
  };

  /** Whether neither an export of the Schedule nor a run of the mirror is in progress, once the Schedule is paused. */
  const isIdle = async () => {
    for await (const { status, type } of stack.workflows())
      if (type === 'exportWorkflow' && status.name === 'RUNNING') return false;
    const { active, waiting } = await mirrorStatus(stack, 'projects');
    return active === null && waiting === 0;
  };

  /** The folders of snapshots in the lake. */
  const snapshots = async () => {
    const days = await stack.store.listFolders('projects/snapshots/');
    const folders = days.map((day) => stack.store.listFolders(`projects/snapshots/${day}/`));
    return (await Promise.all(folders)).flat();
  };

  /** What `status` says ten minutes later, when the last night should have been over. */
  async function nights() {
    const now = Date.now;
    const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + SCHEDULE_GRACE_MS);
    try {
      const { due = [] } = (await nextScheduled(stack.temporal, stack.connection))!;
      const options = { hasWorker: true, due };
      const [status] = await readStatus(stack.temporal, connection(), stack.store, options);
      return status!.nights!;
    } finally {
      later.mockRestore();
    }
  }

  it('counts the nights of an open run, of a pause and of a stopped server, which publish one late run at most', async () => {
    const [port, folder] = [await freePort(), join(inject('servers').s3DataFolder, '..')];
    const dbFile = join(folder, `gaps-${port}.db`);
    const start = () =>
      startTemporalDevServer({ executable: inject('servers').temporalCli, headless: true, port, dbFile });
    temporal = await start();
    stack = await startStack({
      temporalAddress: temporal.address,
      simulator: { counts: { projects: 3 } },
      resources: '[projects]',
      yaml: `    schedule: { cron: "${CRON}", jitter: 0s }\n`,
    });
    await stack.startWorker();
    await applySchedule(stack.temporal, connection(), stack.taskQueue);
    await until(async () => (await published()).length >= 2, 'two nights are published');
    const quiet = await nights();

    // An open run: the server counts what it skips.
    const held = holdAnswer(stack.simulator, { resource: 'projects' });
    await until(async () => (await described()).skipped >= 2, 'the Schedule skips runs');
    held.release();
    const open = await published();
    await until(async () => (await published()).length > open.length, 'the open run is published');
    const afterOpen = await nights();
    expect(afterOpen.unpublished).toBeGreaterThanOrEqual(quiet.unpublished + 1);

    // A pause: none of its nights runs later.
    await pauseSchedule(stack.temporal, stack.connection, 'audit');
    await until(isIdle, 'the run that the pause found has ended');
    const paused = await published();
    const { skipped } = await described();
    await sleep(2 * NIGHT_MS);
    expect(await published()).toEqual(paused);
    expect((await described()).skipped).toBe(skipped);
    const afterPause = await nights();
    expect(afterPause.unpublished).toBeGreaterThanOrEqual(afterOpen.unpublished + 2);
    await resumeSchedule(stack.temporal, stack.connection, 'audit has ended');
    await until(async () => (await published()).length > paused.length, 'it runs again');

    // A stopped server: of the missed nights, one runs late.
    const before = (await published()).length;
    await temporal.stop();
    await sleep(4 * NIGHT_MS);
    temporal = await start();
    await until(async () => (await published()).length > before, 'a run follows');
    const afterStop = await nights();
    expect(afterStop.unpublished).toBeGreaterThanOrEqual(afterPause.unpublished + 2);
    await pauseSchedule(stack.temporal, stack.connection);

    // History, lake and status agree, once a run that was in progress at the pause is in all of them.
    await until(
      async () => (await snapshots()).length === (await published()).length,
      'the log has a run for each snapshot',
    );
    const runs = await published();
    const { scheduled, unpublished } = await nights();
    expect(Math.abs(scheduled - unpublished - runs.length)).toBeLessThanOrEqual(1);
  });
});
