import { errorMessage } from '../../core/errors.js';
import { whyNotExecutable } from '../commands/executables.js';
import { runCommand } from '../commands/run-command.js';
import type { Environment } from './cache.js';
import type { ServerSpec } from './kinds.js';

const probeTimeoutMs = 30_000;

/**
 * The reason why an executable does not run, or null if it does. Runs it with `probeArgs` if it has them, which detects
 * builds for another machine and truncated files before a server is started.
 */
export async function whyNotRunning(
  spec: ServerSpec,
  path: string,
  env: Environment,
  signal?: AbortSignal,
): Promise<string | null> {
  const why = await whyNotExecutable(path);
  if (why !== null || spec.probeArgs === null) return why;
  const timeout = AbortSignal.timeout(probeTimeoutMs);
  try {
    await runCommand(path, spec.probeArgs, {
      env,
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    return null;
  } catch (error) {
    return `does not run: ${errorMessage(error)}`;
  }
}
