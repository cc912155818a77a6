import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/ports.js';
import { type CommandProcess, runCommand, startCommand } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

describe('the health of a worker', () => {
  let stack: Stack;
  const args = (): string[] => ['worker', '--config', stack.configFile, '--task-queue', stack.taskQueue];
  beforeAll(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
  });
  afterAll(() => stack?.stop());

  async function ask(port: number, path: string, method = 'GET') {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method }).catch(() => null);
    return answer === null ? null : { status: answer.status, body: await answer.text() };
  }

  const becomes = (port: number, path: string, status: number, command: CommandProcess): Promise<void> =>
    until(async () => {
      if (command.child.exitCode !== null) throw new Error((await command.output()).stderr);
      return (await ask(port, path))?.status === status;
    }, `${path} answers ${status}`);

  it('is alive and ready while it polls, and not ready while it drains', async () => {
    const port = await freePort();
    const command = startCommand(stack, [...args(), '--health', `127.0.0.1:${port}`]);
    await becomes(port, '/readyz', 200, command);
    expect(await ask(port, '/healthz')).toEqual({ status: 200, body: '{"state":"polling"}\n' });
    expect((await ask(port, '/other'))?.status).toBe(404);
    expect((await ask(port, '/healthz', 'POST'))?.status).toBe(405);
    // A read that hangs keeps the activity busy, and the worker draining.
    stack.simulator.admin.faults.add({ fault: { kind: 'hang' } });
    await stack.temporal.client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-drained`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection }],
    });
    await until(() => stack.simulator.admin.stats().inFlight > 0, 'the worker reads');
    command.child.kill('SIGTERM');
    await becomes(port, '/readyz', 503, command);
    expect(await ask(port, '/healthz')).toEqual({ status: 200, body: '{"state":"draining"}\n' });
    stack.simulator.admin.faults.clear();
    command.child.kill('SIGTERM');
    await command.exited;
    expect(await ask(port, '/healthz')).toBeNull();
  });

  it('is alive and not ready while Temporal is unreachable', async () => {
    const port = await freePort();
    const command = startCommand(stack, [...args(), '--address', '127.0.0.1:9', '--health', String(port)]);
    await becomes(port, '/healthz', 200, command);
    expect(await ask(port, '/readyz')).toEqual({ status: 503, body: '{"state":"connecting"}\n' });
    await command.signal('SIGTERM');
    // There was nothing to drain, and nothing went wrong.
    expect(await command.exited).toBe(0);
    expect((await command.output()).stderr).not.toContain('Unexpected error');
  });

  it('rejects an unavailable address, and suggests another', async () => {
    const wrong = await runCommand(stack, [...args(), '--health', 'here']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/^--health: found/)]);
    const taken = new URL(stack.simulator.url).port;
    const busy = await runCommand(stack, [...args(), '--health', taken]);
    expect(busy.code).toBe(2);
    expect(busy.stderr).toContain('another process uses this port\nChoose another address with --health.');
  });

  it('does not start without an API key or in an unknown namespace, which a restart cannot fix', async () => {
    const keyless = await runCommand(stack, args(), { WORKTRACK_API_KEY: '' });
    expect([keyless.code, keyless.stderr]).toEqual([2, expect.stringContaining('WORKTRACK_API_KEY')]);
    const lost = await runCommand(stack, [...args(), '--namespace', 'no-such-namespace']);
    expect(lost.code).toBe(2);
    expect(lost.stderr).toMatch(/has no namespace "no-such-namespace"\nCorrect TEMPORAL_NAMESPACE/);
  });
});
