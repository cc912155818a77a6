import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url));
const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const BUNDLE = fileURLToPath(new URL('../../dist/cli/run.cjs', import.meta.url));

/** Commands and options that load separate modules (`usesPackages` in src/cli/run.ts), or that serve until a signal. */
const OWN_PROCESS = ['worker', 'replay', 'unpin', 'demo', 'simulator', 'webhook', '--local', '--traces'];
/** Variables that a process reads when it starts. */
const OWN_VARIABLES = ['NODE_OPTIONS', 'WORKTRACK_DATA_CONVERTER'];

/** What a command has printed, and its exit code; `null` if its process ended without one. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whether a command can run in a process that runs others. */
export function canShareProcess(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const isAlone = (arg: string): boolean => OWN_PROCESS.includes(arg) || arg.startsWith('--data-converter');
  return !args.some(isAlone) && OWN_VARIABLES.every((name) => env[name] === undefined);
}

/** Processes (command-host.mjs) that wait for a command. */
const idle = new Set<ChildProcess>();

/** Runs a command to its end in a process that has run others of the same test file, which takes a tenth of the time. */
export async function runShared(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  folder: string,
): Promise<CommandResult> {
  const [host = start()] = idle;
  idle.delete(host);
  const direct: Buffer[] = [];
  const onText = (chunk: Buffer): void => void direct.push(chunk);
  host.stderr!.on('data', onText);
  const result = await new Promise<CommandResult>((resolve) => {
    const onExit = (code: number | null): void => resolve({ code, stdout: '', stderr: '' });
    host.once('exit', onExit);
    host.once('message', (answer) => {
      host.off('exit', onExit);
      resolve(answer as CommandResult);
    });
    host.send({ args, env, folder });
  });
  host.stderr!.off('data', onText);
  if (host.connected) idle.add(host);
  return { ...result, stderr: result.stderr + Buffer.concat(direct).toString() };
}

function start(): ChildProcess {
  return fork(HOST, [MAIN, BUNDLE], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
}

/** Ends the processes: the next file's commands start with modules that no other has used. */
export function endHosts(): void {
  for (const host of idle) host.kill();
  idle.clear();
}
