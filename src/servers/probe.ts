import type { Environment } from './cache.js';
import { runCommand } from './command.js';
import { whyNotExecutable } from './executables.js';
import type { ServerSpec } from './kinds.js';

const probeTimeoutMs = 30_000;

/**
 * Says why an executable cannot serve, or null when it can: it is there, and where it knows a harmless argument, it
 * was run with it. That catches builds for another machine and truncated files before a server is started.
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
    return `does not run: ${error instanceof Error ? error.message : String(error)}`;
  }
}
