import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Environment } from '../core/home-folder.js';

interface CommandOptions {
  readonly env: Environment;
  readonly cwd?: string;
  /** Terminates the command (SIGTERM) when aborted. */
  readonly signal: AbortSignal;
}

/** Length of the output in an error message. Enough for the final messages of a compiler or Maven. */
const maxOutputCharacters = 4_000;
const killAfterMs = 5_000;

/**
 * Runs a command without a shell and returns its standard output.
 *
 * @throws Error with the end of the output if the command cannot run or exits with another code than 0; the reason of
 *   `signal` if aborted
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<string> {
  options.signal.throwIfAborted();
  const env = options.env as NodeJS.ProcessEnv;
  const child = spawn(command, args, { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const release = killWithHost(child);
  let killTimer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    child.kill('SIGTERM');
    // Child processes of the command (such as compilers) may keep the pipes open after the command has ended.
    killTimer = setTimeout(() => {
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
    }, killAfterMs);
  };
  options.signal.addEventListener('abort', onAbort, { once: true });
  let output = '';
  let lastOutput = '';
  const keep = (text: string) => {
    lastOutput = (lastOutput + text).slice(-maxOutputCharacters);
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    keep(text);
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  try {
    // An `error` event rejects.
    const [exitCode, signalName] = await once(child, 'close');
    const code: number | string = exitCode ?? signalName ?? 'unknown';
    options.signal.throwIfAborted();
    const line = [command, ...args].join(' ');
    if (code !== 0) throw new Error(`\`${line}\` exited with ${code}: ${lastOutput.trim() || 'no output'}`);
    return output;
  } finally {
    clearTimeout(killTimer);
    options.signal.removeEventListener('abort', onAbort);
    release();
  }
}

const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

const children = new Set<ChildProcess>();

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * A signal listener disables the default action, which ends the process. If there is no other listener, this one removes
 * itself and raises the signal again. If the host process has its own handler, that handler decides when to exit, and the
 * `exit` event kills the children.
 */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  listen('off');
  process.kill(process.pid, signal);
}

function listen(method: 'on' | 'off'): void {
  process[method]('exit', killAll);
  for (const signal of fatalSignals) process[method](signal, onSignal);
}

/**
 * Kills a child when this process exits or receives a fatal signal. The returned function releases the child, which also
 * happens when the child ends. The process has listeners only while there are children.
 */
export function killWithHost(child: ChildProcess): () => void {
  if (children.size === 0) listen('on');
  children.add(child);
  const release = () => {
    if (children.delete(child) && children.size === 0) listen('off');
  };
  child.once('exit', release);
  child.once('error', release);
  return release;
}

/** The reason why a path cannot be executed, or null if it can. */
export async function whyNotExecutable(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'is not executable' : 'does not exist';
  }
}

/** The folders in PATH, in order, without empty entries, which would mean the working directory. */
export function pathFolders(env: Environment): string[] {
  return (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The path of the first executable with this name in the folders, or null. */
export async function findExecutable(command: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, command);
    if ((await whyNotExecutable(path)) === null) return path;
  }
  return null;
}
