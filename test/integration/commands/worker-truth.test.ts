import { hostname } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { readPollers } from '../../../src/temporal/status/pollers.js';
import { readWorkers } from '../../../src/temporal/status/workers.js';
import { removeOldRecords } from '../../../src/temporal/worker/old-records.js';
import { publishConfig } from '../../../src/temporal/worker/publish-config.js';
import { type CommandProcess, runCommand, startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** What commands say about a worker's configuration and its end (docs/how-to/workers.md#change-the-configuration). */
describe('what commands say about a worker', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function start() {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 1 } } });
  }
  const run = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const recordOf = (worker: CommandProcess) =>
    stack.temporal.client.workflow.getHandle(
      `worktrack-worker/${stack.taskQueue}/${worker.child.pid}@${hostname()}`,
    );
  const isThere = async (worker: CommandProcess) =>
    (await readPollers(stack.temporal, stack.taskQueue)).some(({ identity }) =>
      identity.startsWith(`${worker.child.pid}@`),
    );

  it('is true at once and two minutes later, and leaves no timed-out workflow', async () => {
    await start();
    const worker = await startWorkerProcess(stack);
    const startedAt = Date.now();
    const doctor = async () => (await run('doctor')).stdout;
    expect(await doctor()).toContain('the same as in this file');
    expect((await run('export')).code).toBe(0);
    await until(async () => Date.now() - startedAt > 125_000, 'two minutes have passed', 180_000);
    expect(await doctor()).toContain('the same as in this file');
    expect(await doctor()).not.toContain('cannot be compared');
    const { status, raw } = await recordOf(worker).describe();
    expect(status.name).toBe('RUNNING');
    // A record with a timeout would not be true for days.
    const { workflowExecutionTimeout, workflowRunTimeout } = raw.executionConfig ?? {};
    for (const timeout of [workflowExecutionTimeout, workflowRunTimeout])
      expect(Number(timeout?.seconds ?? 0)).toBe(0);

    await worker.signal('SIGTERM');
    await worker.exited;
    // Nothing waits for the server's list of pollers, which still has it.
    const status1 = await run('status');
    expect(status1.stdout).toContain(`no worker polls task queue "${stack.taskQueue}"`);
    expect(status1.stdout).not.toContain('do not answer');
    expect((await run('status', '--check')).stdout).toContain('no worker polls');
    const json = JSON.parse((await run('status', '--json')).stdout) as {
      connections: [{ worker: boolean; resources: [{ state: string }] }];
    };
    expect(json.connections[0]).toMatchObject({ worker: false, resources: [{ state: 'no-worker' }] });
    expect(await doctor()).toContain(`no worker polls task queue "${stack.taskQueue}"`);
    const exported = await run('export', '--timeout', '3s');
    expect(exported.stderr).toContain(`No worker polls task queue "${stack.taskQueue}"`);
    const ended: string[] = [];
    for await (const { type, status: state } of stack.workflows())
      if (type === 'worktrackWorkerConfiguration') ended.push(state.name);
    expect(ended).not.toContain('TIMED_OUT');
  });

  it('does not depend on the record of a worker that was killed, which the next worker removes', async () => {
    await start();
    const worker = await startWorkerProcess(stack);
    await until(() => isThere(worker), 'it polls');
    worker.child.kill('SIGKILL');
    await worker.exited;
    // A record without a worker that polled in the last minutes, such as that of a worker that was killed long ago.
    const connection = () => stack.temporal.client.connection;
    const { namespace } = stack.temporal;
    const { taskQueue, settings } = stack;
    const gone = { connection, namespace, taskQueue, identity: '1@gone' };
    await publishConfig(gone, settings, () => {}).ready;
    const record = stack.temporal.client.workflow.getHandle(`worktrack-worker/${taskQueue}/1@gone`);
    expect((await record.describe()).status.name).toBe('RUNNING');
    expect((await readWorkers(stack.temporal, taskQueue)).map(({ identity }) => identity)).not.toContain(
      '1@gone',
    );
    await removeOldRecords(stack.temporal, taskQueue);
    expect((await record.describe()).status.name).toBe('RUNNING');
    await until(async () => {
      await removeOldRecords(stack.temporal, taskQueue, 0);
      return (await record.describe()).status.name === 'TERMINATED';
    }, 'the list of workflows has it');
    // The server still lists this one as polling.
    expect((await recordOf(worker).describe()).status.name).toBe('RUNNING');
  });

  it('names a versioned worker that is not current, and one without a version while another is current', async () => {
    await start();
    const version = (buildId: string) => ({
      WORKTRACK_DEPLOYMENT_NAME: stack.connection,
      WORKTRACK_BUILD_ID: buildId,
    });
    const worker = await startWorkerProcess(stack, version('1'));
    const notCurrent = `runs build 1 of deployment ${stack.connection}, which is not the current version`;
    const doctor = async () => (await run('doctor')).stdout;
    await until(async () => (await doctor()).includes(notCurrent), 'doctor names it');
    expect(await doctor()).toContain('receives new runs');
    const exported = await run('export', '--no-wait');
    expect([exported.code, exported.stderr]).toEqual([0, expect.stringContaining(notCurrent)]);
    expect(exported.stderr).toContain('set-current-version');
    expect((await run('status')).stdout).toContain(notCurrent);
    const { client, namespace } = stack.temporal;
    await until(async () => {
      try {
        const current = { namespace, deploymentName: stack.connection, buildId: '1' };
        await client.workflowService.setWorkerDeploymentCurrentVersion(current);
        return true;
      } catch {
        return false;
      }
    }, 'it is current');
    await until(async () => !(await doctor()).includes('not the current version'), 'doctor knows');
    expect(await doctor()).toContain('the same as in this file');
    const other = await startWorkerProcess(stack);
    const idle = `worker ${other.child.pid}@${hostname()} has no deployment version`;
    await until(async () => (await doctor()).includes(idle), 'doctor names it');
    await until(async () => (await run('export')).code === 0, 'the current one exports');
    await Promise.all([worker, other].map((one) => one.signal('SIGTERM')));
  });
});
