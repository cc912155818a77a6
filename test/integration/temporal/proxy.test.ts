import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workerProxy } from '../../../src/temporal/client/connect.js';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.js';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

describe('behind a proxy that alone can resolve the hosts', () => {
  let stack: Stack;
  let proxy: ConnectProxy;
  let remote: string;

  beforeAll(async () => {
    proxy = await startConnectProxy();
    for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'NO_PROXY']) delete process.env[name];
    process.env.HTTPS_PROXY = proxy.url;
    process.env.HTTP_PROXY = proxy.url;
    stack = await startStack({ simulator: { counts: { tasks: 3 } }, resources: '[tasks]' });
    remote = `temporal.test:${stack.servers.temporalAddress.split(':').at(-1)}`;
  });
  afterAll(async () => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'grpc_proxy']) delete process.env[name];
    await stack?.stop();
    await proxy?.close();
  });

  it('servers on this machine are reached directly', async () => {
    const worker = await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    await worker.stop();
    expect(proxy.targets).toEqual([]);
    expect(workerProxy(stack.servers.temporalAddress)).toEqual({});
  });

  it('workers and commands reach Temporal, and doctor names the proxy', async () => {
    const worker = await stack.startWorker(stack.settings, { address: remote });
    const env = { TEMPORAL_ADDRESS: remote, HTTPS_PROXY: proxy.url };
    const args = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const { code, stderr } = await runCommand(stack, ['export', ...args], env);
    expect([code, stderr]).toEqual([0, expect.stringContaining('tasks')]);
    expect(new Set(proxy.targets)).toEqual(new Set([remote]));
    const doctor = await runCommand(stack, ['doctor', ...args], env);
    const host = new URL(proxy.url).host;
    expect(doctor.stdout).toContain(`Temporal is reached through the proxy ${host} (HTTPS_PROXY)`);
    expect(doctor.stdout + doctor.stderr).not.toContain('secret@');
    await worker.stop();
  });
});
