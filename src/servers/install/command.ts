import { spawn } from 'node:child_process';
import { killWithHost } from '../start/host-exit.js';
import type { Environment } from './cache.js';

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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
  const child = spawn(command, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
    const code = await new Promise<number | string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode, signalName) => resolve(exitCode ?? signalName ?? 'unknown'));
    });
    options.signal.throwIfAborted();
    if (code !== 0) {
      throw new Error(
        `\`${[command, ...args].join(' ')}\` exited with ${code}: ${lastOutput.trim() || 'no output'}`,
      );
    }
    return output;
  } finally {
    clearTimeout(killTimer);
    options.signal.removeEventListener('abort', onAbort);
    release();
  }
}
