import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type CommandResult, canShareProcess, runShared } from './command-hosts.js';
import { logOf } from './last-logs.js';
import { type Stack, until } from './stack.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url));

/** Where a command runs. */
type Place = Pick<Stack, 'folder' | 'env'>;

/** A command that runs in a separate process, as a user runs it. Its output goes to files. */
export interface CommandProcess {
  readonly child: ChildProcess;
  output(): Promise<{ stdout: string; stderr: string }>;
  /** Resolves to the exit code; `null` for a signal. */
  exited: Promise<number | null>;
  signal(name: NodeJS.Signals): Promise<void>;
}

let count = 0;

export function startCommand(
  stack: Place,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): CommandProcess {
  return start(stack, [process.execPath, CLI, ...args], `${args[0]}-${count++}`, { env, stdin });
}

/** Runs a command on a terminal, whose screen is its output. What is written to its stdin is typed. */
export function startOnTerminal(stack: Place, args: readonly string[]): CommandProcess {
  const program = ['python3', TERMINAL, process.execPath, CLI, ...args];
  return start(stack, program, `${args[0]}-${count++}`, { env: { TERM: 'xterm' }, stdin: 'pipe' });
}

function start(
  stack: Place,
  [program = '', ...args]: readonly string[],
  file: string,
  { env, stdin }: { readonly env: NodeJS.ProcessEnv; readonly stdin: 'ignore' | 'pipe' },
): CommandProcess {
  const name = join(stack.folder, file);
  const child = spawn(program, args, {
    cwd: stack.folder,
    env: { ...stack.env, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  // The streams create their files later.
  for (const end of ['out', 'err']) writeFileSync(`${name}.${end}`, '');
  const files = (['out', 'err'] as const).map((end) => createWriteStream(`${name}.${end}`));
  child.stdout!.pipe(files[0]!);
  child.stderr!.pipe(files[1]!);
  const noted = logOf(`${args.slice(1, 3).join(' ')} (process ${child.pid})`);
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => noted(String(chunk)));
  // The last output is written after the child has ended.
  const written = Promise.all(files.map((file) => finished(file)));
  const exited = once(child, 'close').then(async ([code]) => {
    await written;
    return code as number | null;
  });
  return {
    child,
    exited,
    async output() {
      const [stdout, stderr] = await Promise.all([
        readFile(`${name}.out`, 'utf8'),
        readFile(`${name}.err`, 'utf8'),
      ]);
      return { stdout, stderr };
    },
    async signal(signal) {
      child.kill(signal);
      await exited;
    },
  };
}

/** Runs a command to its end, in a process of its own only if it needs one. */
export async function runCommand(
  stack: Place,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CommandResult> {
  const all = { ...stack.env, ...env };
  if (canShareProcess(args, all)) {
    const result = await runShared(args, all, stack.folder);
    logOf(args.slice(0, 2).join(' '))(`${result.stdout}\n${result.stderr}`);
    return result;
  }
  const command = startCommand(stack, args, env);
  const code = await command.exited;
  return { code, ...(await command.output()) };
}

/**
 * A worker in a separate process that polls the stack's task queue. It is stopped with the stack.
 *
 * @param cli the program, for another build than this one
 */
export async function startWorkerProcess(
  stack: Stack,
  env: NodeJS.ProcessEnv = {},
  more: readonly string[] = [],
  cli = CLI,
): Promise<CommandProcess> {
  const args = ['worker', '--config', stack.configFile, '--task-queue', stack.taskQueue, ...more];
  const command = start(stack, [process.execPath, cli, ...args], `worker-${count++}`, {
    env,
    stdin: 'ignore',
  });
  stack.beforeStop(() => command.signal('SIGTERM'));
  await until(async () => {
    if (command.child.exitCode !== null)
      throw new Error(`the worker ended: ${(await command.output()).stderr}`);
    return (await pollers(stack)).some((identity) => identity.startsWith(`${command.child.pid}@`));
  }, 'the worker polls');
  return command;
}

/** The workers that poll, also those that have just stopped. */
export async function pollers(stack: Stack): Promise<string[]> {
  const { client, namespace } = stack.temporal;
  const found = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: stack.taskQueue },
    taskQueueType: 1,
  });
  return (found.pollers ?? []).map(({ identity }) => identity ?? '');
}
