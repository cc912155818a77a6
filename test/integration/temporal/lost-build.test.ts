import { afterEach, describe, expect, it } from 'vitest';
import { startExport } from '../../../src/temporal/client/start.js';
import { holdAnswer } from '../../support/hold.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** Upgrades, and runs whose build is gone (docs/how-to/upgrade.md). */
describe('a build of workers', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const place = () => ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const run = (...args: string[]) => runCommand(stack, [...args, ...place()]);
  const build = (buildId: string) =>
    startWorkerProcess(stack, { WORKTRACK_DEPLOYMENT_NAME: stack.connection, WORKTRACK_BUILD_ID: buildId });
  const upgradeTo = (buildId: string, ...more: string[]) =>
    run('upgrade', buildId, '--deployment-name', stack.connection, ...more);

  async function says(command: CommandProcess, text: string): Promise<void> {
    await until(async () => (await command.output()).stderr.includes(text), `it says "${text}"`);
  }

  it('becomes current, and a run that its lost build holds is named, moved and published', async () => {
    stack = await startStack({
      resources: '[projects]',
      simulator: { awkward: false, counts: { projects: 30 } },
      yaml: '    sync: { pageSize: 1 }\n',
    });
    const first = await build('1');
    const current = await upgradeTo('1', '--no-wait', '--json');
    expect([current.code, JSON.parse(current.stdout)]).toEqual([
      0,
      { outcome: 'current', deploymentName: stack.connection, buildId: '1', before: null },
    ]);
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
    const input = { connection: stack.connection, full: true };
    const workflowId = await startExport(stack.temporal, input, { taskQueue: stack.taskQueue });
    await until(held.isThere, 'it reads');
    held.release();
    await first.signal('SIGTERM');
    await build('2');
    expect((await upgradeTo('2', '--no-wait')).stderr).toContain('Build 2 is the current version now');

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
    const again = await upgradeTo('2');
    expect([again.code, again.stderr]).toEqual([
      0,
      expect.stringContaining('is the current version already'),
    ]);

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
  });

  // In `upgrade-page`, the first command runs while its worker starts.
  longOnly('is not made current before one of its workers polls', async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 1 } } });
    const upgrading = startCommand(stack, [
      'upgrade',
      '9',
      '--deployment-name',
      stack.connection,
      ...place(),
    ]);
    await says(upgrading, 'Waiting for a worker of build 9');
    await build('9');
    expect(await upgrading.exited).toBe(0);
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
