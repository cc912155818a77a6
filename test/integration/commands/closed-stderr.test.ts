import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type Stack, startStack, until } from '../../support/stack.js';

const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

/** A command whose stderr is a pipe; the reader closes it as soon as `reading` is true. */
function start(stack: Stack, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args], {
    cwd: stack.folder,
    env: stack.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', (text) => {
    stdout += String(text);
  });
  child.stderr!.on('data', (text) => {
    stderr += String(text);
  });
  stack.beforeStop(async () => void child.kill('SIGKILL'));
  return {
    child,
    exited: once(child, 'close').then(([code]) => code as number | null),
    stdout: () => stdout,
    stderr: () => stderr,
    closeStderr: () => child.stderr!.destroy(),
  };
}

describe('a process with closed stderr', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is a worker that keeps working and drains on SIGTERM', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 40 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 10 }\n',
    });
    const worker = start(stack, ['worker', '--config', stack.configFile, '--task-queue', stack.taskQueue]);
    await until(() => worker.stderr().includes('Serving '), 'the worker says what it serves');
    worker.closeStderr();
    await once(worker.child.stderr!, 'close');
    // A key that is rejected fails an activity, which the worker logs.
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 403 },
      remaining: 1,
    });
    expect((await stack.export()).outcome).toBe('refused');
    expect((await stack.export()).outcome).toBe('published');
    expect(worker.child.exitCode).toBeNull();
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
  });

  it('is an export that succeeds and prints its result', async () => {
    stack = await startStack({ simulator: { awkward: false, counts: { tasks: 40 } }, resources: '[tasks]' });
    await stack.startWorker();
    const args = ['export', '--json', '--config', stack.configFile, '--task-queue', stack.taskQueue];
    const command = start(stack, args);
    command.closeStderr();
    expect(await command.exited).toBe(0);
    expect(JSON.parse(command.stdout())).toMatchObject({ outcome: 'published' });
  });
});
