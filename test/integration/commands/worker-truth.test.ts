import { hostname } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { readWorkers } from '../../../src/temporal/status/workers.js';
import { type ConnectedWorker, publishConfig } from '../../../src/temporal/worker/published-config.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
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
  /** Waits for what an export says that no worker begins. */
  const exportSays = async (text: RegExp, taskQueue = stack.taskQueue) => {
    const args = ['export', '--config', stack.configFile, '--task-queue', taskQueue];
    const command = startCommand(stack, args);
    await until(async () => text.test((await command.output()).stderr.replace(/\s+/g, ' ')), String(text));
    await command.signal('SIGTERM');
  };
  const recordOf = (worker: CommandProcess) =>
    stack.temporal.client.workflow.getHandle(
      `worktrack-worker/${stack.taskQueue}/${worker.child.pid}@${hostname()}`,
    );

  it('is true while it runs, and immediately when it has stopped', async () => {
    await start();
    const worker = await startWorkerProcess(stack);
    const doctor = async () => (await run('doctor')).stdout;
    // A worker publishes its configuration when it polls already.
    await until(async () => (await doctor()).includes('the same as in this file'), 'it is published');
    expect((await run('export')).code).toBe(0);
    const { status, taskQueue } = await recordOf(worker).describe();
    expect([status.name, taskQueue]).toEqual(['RUNNING', stack.taskQueue]);

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
    await exportSays(new RegExp(`No worker polls task queue "${stack.taskQueue}"`));
  });

  it('names the task queue of other workers if the command was given none that has some', async () => {
    await start();
    const worker = await startWorkerProcess(stack);
    const forgotten = (...args: string[]) =>
      runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', `no-${stack.taskQueue}`]);
    // The list of workflows follows a start after a moment, and other tests have workers, too.
    const hint = /Workers poll "[^.]+: if you mean them, add --task-queue /;
    await until(async () => hint.test((await forgotten('status')).stdout), 'the hint is there');
    expect((await forgotten('doctor')).stdout.replace(/\s+/g, ' ')).toMatch(hint);
    await exportSays(hint, `no-${stack.taskQueue}`);
    expect((await run('export')).code).toBe(0);
    await worker.signal('SIGTERM');
  });

  it('does not depend on the record of a worker that was killed', async () => {
    await start();
    const { connection } = stack.temporal.client;
    const { namespace } = stack.temporal;
    const { taskQueue, settings } = stack;
    const options = { namespace, taskQueue, identity: '1@gone' };
    const gone = { connection, options } as unknown as ConnectedWorker;
    await publishConfig(gone, settings, () => {}).ready;
    const record = stack.temporal.client.workflow.getHandle(`worktrack-worker/${taskQueue}/1@gone`);
    expect((await record.describe()).status.name).toBe('RUNNING');
    expect(await readWorkers(stack.temporal, taskQueue)).toEqual([]);
    expect((await run('doctor')).stdout).toContain(`no worker polls task queue "${taskQueue}"`);
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
    expect(exported.stderr).toMatch(new RegExp(` upgrade .*1 --deployment-name ${stack.connection}`));
    expect((await run('status')).stdout).toContain(notCurrent);
    const nameless = await run('upgrade', '1');
    expect(nameless.code, nameless.stderr).toBe(2);
    expect(nameless.stderr).toMatch(new RegExp(` upgrade .*1 --deployment-name ${stack.connection}`));
    expect(nameless.stderr).not.toContain('Waiting for a worker');
    expect((await run('upgrade', '1', '--deployment-name', stack.connection)).code).toBe(0);
    await until(async () => !(await doctor()).includes('not the current version'), 'doctor knows');
    expect(await doctor()).toContain('the same as in this file');
    const other = await startWorkerProcess(stack);
    const idle = `worker ${other.child.pid}@${hostname()} has no deployment version`;
    await until(async () => (await doctor()).includes(idle), 'doctor names it');
    await until(async () => (await run('export')).code === 0, 'the current one exports');
    await Promise.all([worker, other].map((one) => one.signal('SIGTERM')));
  });
});
