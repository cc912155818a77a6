import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { startExport } from '../../../src/temporal/client/start.js';
import { DRAINS_SOON } from '../../support/drains-soon.js';
import { holdAnswer } from '../../support/hold.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** What `upgrade` says of a build that holds a run and has no worker. */
const LOST = '1 workflow of build 1 cannot end, because none of its workers polls';
/** More than are named. */
const MANY = 104;

/** Upgrades, and runs whose build is gone (docs/how-to/upgrade.md). */
describe('a build of workers', () => {
  let temporal: TemporalDevServer;
  let stack: Stack;
  beforeAll(async () => {
    const executable = inject('servers').temporalCli;
    temporal = await startTemporalDevServer({ executable, headless: true, extraArgs: DRAINS_SOON });
  });
  afterEach(() => stack?.stop());
  afterAll(() => temporal?.stop());

  const place = () => ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const run = (...args: string[]) => runCommand(stack, [...args, ...place()]);
  const build = (buildId: string) =>
    startWorkerProcess(stack, { WORKTRACK_DEPLOYMENT_NAME: stack.connection, WORKTRACK_BUILD_ID: buildId });
  const upgradeTo = (buildId: string, ...more: string[]) =>
    run('upgrade', buildId, '--deployment-name', stack.connection, ...more);

  const upgrading = (buildId: string, ...more: string[]) =>
    startCommand(stack, ['upgrade', buildId, '--deployment-name', stack.connection, ...more, ...place()]);

  /** A list that is read one row at a time, so that a run can be held. */
  const startOneRowPages = () =>
    startStack({
      temporalAddress: temporal.address,
      resources: '[projects]',
      simulator: { awkward: false, counts: { projects: 30 } },
      yaml: '    sync: { pageSize: 1 }\n',
    });

  async function says(command: CommandProcess, text: string): Promise<void> {
    await until(async () => (await command.output()).stderr.includes(text), `it says "${text}"`);
  }

  it('becomes current, and a run that its lost build holds is named, moved and published', async () => {
    stack = await startOneRowPages();
    const first = await build('1');
    const initial = await upgradeTo('1', '--no-wait', '--json');
    expect([initial.code, JSON.parse(initial.stdout)]).toEqual([
      0,
      { outcome: 'current', deploymentName: stack.connection, buildId: '1', before: null, draining: [] },
    ]);
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
    const input = { connection: stack.connection, full: true };
    const workflowId = await startExport(stack.temporal, input, { taskQueue: stack.taskQueue });
    await until(held.isThere, 'it reads');
    held.release();
    await first.signal('SIGTERM');
    await build('2');
    const second = (await upgradeTo('2', '--no-wait')).stderr;
    expect(second).toContain('Build 2 is the current version now');
    expect(second).toContain(LOST);

    const waits = `${workflowId} waits for build 1 of deployment ${stack.connection}`;
    const following = startCommand(stack, ['export', '--follow', workflowId, ...place()]);
    await says(following, waits);
    expect((await following.output()).stderr).toMatch(/ unpin\b/);
    for (const command of ['status', 'doctor']) expect((await run(command)).stdout).toContain(waits);
    const json = JSON.parse((await run('status', '--json')).stdout) as {
      connections: [{ waiting: object[] }];
    };
    expect(json.connections[0].waiting).toEqual([
      { workflowId, deploymentName: stack.connection, buildId: '1' },
    ]);
    const notWaited = await upgradeTo('2', '--no-wait', '--json');
    expect(notWaited.stderr).toContain(LOST);
    const version = { deploymentName: stack.connection, buildId: '2' };
    const current = { outcome: 'current', ...version };
    expect([notWaited.code, JSON.parse(notWaited.stdout)]).toEqual([
      0,
      { ...current, before: '1', draining: ['1'] },
    ]);
    const again = upgrading('2', '--json');
    await says(again, 'Build 2 is the current version already');
    await says(again, LOST);
    expect((await again.output()).stderr).toMatch(/ unpin\b/);

    const moved = await run('unpin', '--json');
    expect([moved.code, JSON.parse(moved.stdout)]).toMatchObject([
      0,
      { outcome: 'moved', workflows: [{ workflowId, outcome: 'moved', to: { buildId: '2' } }] },
    ]);
    expect(await following.exited).toBe(0);
    const { outcome } = await stack.temporal.client.workflow.getHandle(workflowId).result();
    expect(outcome).toBe('published');
    expect((await run('unpin')).stdout).toContain('No workflow waits for a build without workers.');
    expect((await run('status')).stdout).not.toContain('waits for build');
    expect(await again.exited).toBe(0);
    const { stdout, stderr } = await again.output();
    expect(stderr).toContain('Build 1 has drained');
    expect(JSON.parse(stdout)).toEqual({ outcome: 'drained', ...version, before: '1', draining: [] });
    const over = await upgradeTo('2', '--json');
    expect([over.code, JSON.parse(over.stdout)]).toEqual([0, { ...current, before: null, draining: [] }]);
  });

  // test/unit/temporal/upgrade.test.ts has this with a server that is not real.
  longOnly(
    'waits for every earlier build that drains, even if another upgrade has made it current',
    async () => {
      stack = await startStack({
        temporalAddress: temporal.address,
        resources: '[projects]',
        simulator: { awkward: false, counts: { projects: 3 } },
        yaml: '    sync: { pageSize: 1 }\n',
      });
      const workers = [await build('1')];
      expect((await upgradeTo('1')).code).toBe(0);
      const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
      const input = { connection: stack.connection, full: true };
      await startExport(stack.temporal, input, { taskQueue: stack.taskQueue });
      await until(held.isThere, 'it reads');
      for (const buildId of ['2', '3']) {
        workers.push(await build(buildId));
        const { code, stderr } = await upgradeTo(buildId, '--no-wait');
        expect([code, stderr]).toEqual([
          0,
          expect.stringContaining(
            'Keep the workers of build 1 until their runs have ended. To wait for that:',
          ),
        ]);
      }
      const again = upgrading('3', '--json');
      await says(again, 'Keep the workers of build 1 until their runs have ended. Waiting');
      held.release();
      expect(await again.exited).toBe(0);
      expect(JSON.parse((await again.output()).stdout)).toMatchObject({ outcome: 'drained', draining: [] });
      await Promise.all(workers.map((worker) => worker.signal('SIGTERM')));
    },
  );

  // test/unit/temporal/stuck-work.test.ts has more of them with a server that is not real.
  longOnly('loses more runs than one list names, and `unpin` moves all of them', async () => {
    stack = await startOneRowPages();
    const first = await build('1');
    expect((await upgradeTo('1')).code).toBe(0);
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
    const input = { connection: stack.connection, full: true };
    const starts = Array.from({ length: MANY }, () =>
      startExport(stack.temporal, input, { taskQueue: stack.taskQueue }),
    );
    const ids = await Promise.all(starts);
    const { client } = stack.temporal;
    const query = `TaskQueue = '${stack.taskQueue}' AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
    await until(async () => (await client.workflow.count(query)).count === MANY, 'all stay on the build');
    const stopping = first.signal('SIGTERM');
    held.release();
    await stopping;
    await build('2');
    expect((await upgradeTo('2', '--no-wait')).stderr).toContain(`${MANY} workflows of build 1 cannot end`);
    expect((await run('schedule', 'apply')).code).toBe(0);
    type Status = { connections: [{ waiting: object[]; waitingCount: number }] };
    const { connections } = JSON.parse((await run('status', '--json')).stdout) as Status;
    expect([connections[0].waiting.length, connections[0].waitingCount]).toEqual([100, MANY]);
    const others = `${MANY - 100} more workflows wait for builds without workers`;
    for (const command of ['status', 'doctor']) expect((await run(command)).stdout).toContain(others);
    expect((await run('schedule', 'describe')).stderr).toContain(others);
    const { code, stdout } = await run('unpin', '--json');
    const { workflows } = JSON.parse(stdout) as { workflows: { workflowId: string; outcome: string }[] };
    expect(code).toBe(0);
    expect(
      workflows
        .filter(({ outcome }) => outcome === 'moved')
        .map(({ workflowId }) => workflowId)
        .sort(),
    ).toEqual([...ids].sort());
    for (const id of ids)
      expect(await client.workflow.getHandle(id).result()).toMatchObject({ outcome: 'published' });
    expect((await run('unpin')).stdout).toContain('No workflow waits for a build without workers.');
  });

  // In `upgrade-page`, the first command runs while its worker starts.
  longOnly('is not made current before one of its workers polls', async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 1 } } });
    const first = upgrading('9');
    await says(first, 'Waiting for a worker of build 9');
    await build('9');
    expect(await first.exited).toBe(0);
    expect((await run('export')).code).toBe(0);
  });
});

describe('a step that somebody pauses in Temporal', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is named by `status` and `export` with the command that continues it', async () => {
    stack = await startStack({
      resources: '[projects]',
      simulator: { counts: { projects: 3 }, awkward: false },
      yaml: '    sync: { pageSize: 1 }\n',
    });
    await stack.startWorker();
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const exporting = startCommand(stack, ['export', ...place]);
    await until(held.isThere, 'it reads');
    const { client, namespace } = stack.temporal;
    const workflowId = stack.mirrorId('projects');
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    const id = raw.pendingActivities![0]!.activityId!;
    await client.workflowService.pauseActivity({ namespace, execution: { workflowId }, id });
    const command = `temporal activity unpause --workflow-id ${workflowId} --activity-id ${id}`;
    await until(async () => (await exporting.output()).stderr.includes(command), 'export names it');
    expect((await runCommand(stack, ['status', ...place])).stdout).toContain(command);
    held.release();
    await client.workflowService.unpauseActivity({ namespace, execution: { workflowId }, id });
    expect(await exporting.exited).toBe(0);
  });
});
