import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readWorkers } from '../../../src/temporal/status/workers.js';
import { type ConnectedWorker, publishConfig } from '../../../src/temporal/worker/published-config.js';
import { freePort } from '../../support/ports.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const HANG_UP_WHILE_LOADING = fileURLToPath(
  new URL('../../support/hang-up-while-loading.cjs', import.meta.url),
);

describe('a configuration that a worker has not loaded', () => {
  let stack: Stack;
  let worker: CommandProcess;
  let before: string;
  const target = (): string[] => ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const run = (...args: string[]) => runCommand(stack, [...args, ...target()]);
  const logged = (text: string): Promise<void> =>
    until(async () => (await worker.output()).stderr.includes(text), `the worker logs ${text}`);
  const write = (text: string): Promise<void> => writeFile(stack.configFile, text);

  beforeAll(async () => {
    stack = await startStack({
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 3, tasks: 2, members: 4 } },
    });
    before = await readFile(stack.configFile, 'utf8');
    worker = await startWorkerProcess(stack);
    await until(
      async () => (await run('doctor')).stdout.includes('the same as in this file'),
      'it is published',
    );
  });
  afterAll(() => stack?.stop());

  it('is reported by every command, with the worker, the keys and what to do', async () => {
    await write(
      `${before.replace('[projects, tasks]', '[projects, tasks, members]')}\n    sync: { pageSize: 500 }\n`,
    );
    const lacks = `worker ${worker.child.pid}@`;
    const exported = await run('export');
    expect([exported.code, exported.stdout]).toEqual([2, '']);
    expect(exported.stderr).toContain(lacks);
    expect(exported.stderr).toContain('it lacks resource members; different sync.pageSize');
    expect(exported.stderr).toContain(`kill -HUP ${worker.child.pid}`);
    expect(exported.stderr).toContain('Nothing was started.');
    expect((await run('backfill')).code).toBe(2);
    expect((await run('doctor')).stdout).toContain('it lacks resource members');
    const status = await run('status');
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining('it lacks resource members')]);
    const json = JSON.parse((await run('status', '--json')).stdout) as {
      connections: [{ differences: { difference: unknown }[] }];
    };
    expect(json.connections[0].differences).toMatchObject([
      { source: stack.configFile, difference: { added: ['members'], missing: [], keys: ['sync.pageSize'] } },
    ]);
    const applied = await run('schedule', 'apply');
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('it lacks resource members')]);
    await run('schedule', 'delete');
    // The run needs nothing that the worker lacks.
    const part = await run('export', '--resource', 'projects');
    expect([part.code, part.stderr]).toEqual([0, expect.stringContaining('warning: ')]);
  });

  it('is loaded on SIGHUP, and the next run uses it', async () => {
    worker.child.kill('SIGHUP');
    await logged('new resource members; changed sync.pageSize');
    await until(
      async () => (await run('doctor')).stdout.includes('the same as in this file'),
      'it is published',
    );
    const exported = await run('export');
    expect([exported.code, exported.stderr]).toEqual([0, expect.not.stringContaining('warning')]);
    expect(exported.stdout).toContain('members');
  });

  it('stays in use if the changed file is invalid', async () => {
    const good = await readFile(stack.configFile, 'utf8');
    await write(good.replace('baseUrl:', 'baseURL:'));
    worker.child.kill('SIGHUP');
    await logged('configuration rejected (SIGHUP); the one in use stays active');
    await write(good);
    expect((await run('export')).code).toBe(0);
  });

  it('is named with its worker if a run needs a resource that the worker lacks', async () => {
    const failed = stack.export({ resources: ['nothing'] });
    await expect(failed).rejects.toMatchObject({
      cause: {
        cause: { message: expect.stringContaining(`${stack.configFile} of worker ${worker.child.pid}@`) },
      },
    });
  });
});

describe('a worker', () => {
  let stack: Stack;
  beforeEach(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 1 } } });
  });
  afterEach(() => stack.stop());

  // test/unit/temporal/published-config.test.ts: "is withdrawn once, and only the run that this worker started".
  longOnly('still counts after another worker with the same identity has stopped', async () => {
    const worker = await startWorkerProcess(stack);
    const status = async () =>
      (await runCommand(stack, ['doctor', '--config', stack.configFile, '--task-queue', stack.taskQueue]))
        .stdout;
    await until(async () => (await status()).includes('the same as in this file'), 'it is published');
    const { connection } = stack.temporal.client;
    const identity = `${worker.child.pid}@${hostname()}`;
    const { namespace } = stack.temporal;
    const options = { namespace, taskQueue: stack.taskQueue, identity };
    const twin = { connection, options } as unknown as ConnectedWorker;
    const other = publishConfig(twin, stack.settings, () => {});
    await other.withdraw();
    // The worker polls again after each task.
    expect((await stack.export()).outcome).toBe('published');
    await until(async () => (await readWorkers(stack.temporal, stack.taskQueue)).length === 1, 'it counts');
  });

  it('loads the configuration on SIGHUP also before Temporal can be reached, and even before it has loaded itself', async () => {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const args = ['worker', '--config', stack.configFile, '--task-queue', stack.taskQueue];
    const NODE_OPTIONS = `--require ${HANG_UP_WHILE_LOADING}`;
    const worker = startCommand(stack, args, { TEMPORAL_ADDRESS: address, NODE_OPTIONS });
    stack.beforeStop(() => worker.signal('SIGTERM'));
    const says = (text: string): Promise<void> =>
      until(async () => (await worker.output()).stderr.includes(text), `the worker says ${text}`);
    await says('configuration read again (SIGHUP): nothing that a worker uses has changed');
    await says(`Temporal at ${address}`);
    const text = await readFile(stack.configFile, 'utf8');
    await writeFile(stack.configFile, text.replace('[projects]', '[projects, tasks]'));
    worker.child.kill('SIGHUP');
    await says('new resource tasks');
    const proxy = await startTcpProxy(stack.temporal.address, port);
    stack.beforeStop(() => proxy.close());
    await says('(2 resources)');
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
  });
});

describe('worker --watch', () => {
  it('loads a changed file', async () => {
    const stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 1 } } });
    try {
      const worker = await startWorkerProcess(stack, {}, ['--watch']);
      const text = await readFile(stack.configFile, 'utf8');
      await writeFile(stack.configFile, text.replace('[projects]', '[projects, tasks]'));
      await until(
        async () => (await worker.output()).stderr.includes('new resource tasks'),
        'the worker loads the file',
      );
    } finally {
      await stack.stop();
    }
  });
});
