import { spawn } from 'node:child_process';
import type { Environment } from './cache.js';
import { killWithHost } from './host-exit.js';

export interface CommandOptions {
  readonly env: Environment;
  readonly cwd?: string;
  /** Ends the command (SIGTERM) when aborted. */
  readonly signal: AbortSignal;
}

/** How much of a command's output is kept for an error: enough for a compiler's or Maven's last words. */
const keptCharacters = 4_000;
const killAfterMs = 5_000;

/**
 * Runs a command without a shell and gives its standard output. It throws when the command cannot be run, is aborted
 * or exits other than 0; the message holds the last of what it wrote.
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
    // Grandchildren (compilers, for instance) may hold the pipes open for long after their parent has gone.
    killTimer = setTimeout(() => {
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
    }, killAfterMs);
  };
  options.signal.addEventListener('abort', onAbort, { once: true });
  let output = '';
  let said = '';
  const keep = (text: string) => {
    said = (said + text).slice(-keptCharacters);
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
        `\`${[command, ...args].join(' ')}\` ended with ${code}: ${said.trim() || 'no output'}`,
      );
    }
    return output;
  } finally {
    clearTimeout(killTimer);
    options.signal.removeEventListener('abort', onAbort);
    release();
  }
}
