import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../../../dist/src/', import.meta.url));

/** A process of ours that may be killed and started again. */
export interface Restartable {
  readonly pid: number;
  /** Ends it by the signal; resolves when it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  running(): boolean;
}

/** Starts a module of the built package, or of the tests by its URL; what it prints is appended to `log`. */
export function startModule(
  module: string | URL,
  args: readonly string[],
  { env, cwd, log }: { env: NodeJS.ProcessEnv; cwd: string; log: string },
): Restartable {
  const out = openSync(log, 'a');
  const child: ChildProcess = spawn(
    process.execPath,
    [module instanceof URL ? fileURLToPath(module) : `${DIST}${module}`, ...args],
    {
      cwd,
      env,
      stdio: ['ignore', out, out],
    },
  );
  const ended = once(child, 'close');
  // A test run that is broken off leaves no process behind.
  const last = (): unknown => child.kill('SIGKILL');
  process.once('exit', last);
  void ended.then(() => process.off('exit', last));
  return {
    pid: child.pid!,
    running: () => child.exitCode === null && child.signalCode === null,
    async end(signal) {
      child.kill(signal);
      await ended;
    },
  };
}
