import { mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/duration.js';
import { isPortFree } from './ports.js';
import { type ServerCommand, type ServerProcess, startProcess } from './server-process.js';
import { ServerStartError } from './start-error.js';

/** Options of all servers. */
export interface ServerOptions {
  /** The executable, from `resolveServer`. */
  readonly executable: string;
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** The log is appended to this file. Default: a new file in the temporary folder. */
  readonly logFile?: string | undefined;
  /** Aborts the start. Has no effect after the server has started. */
  readonly signal?: AbortSignal | undefined;
}

/** A server that is ready. */
export interface RunningServer {
  readonly pid: number;
  readonly logFile: string;
  /** Stops the server gracefully; resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
  /** Kills the server; resolves when it has ended. */
  kill(): Promise<void>;
}

/** One attempt to start a server; each attempt may use other ports. */
interface StartPlan<T> {
  readonly command: ServerCommand;
  /** Sends a real request. Resolves if the server is ready; after a rejection, it is called again. */
  readonly checkReady: (signal: AbortSignal) => Promise<unknown>;
  /** Creates the result once the server is ready. */
  readonly result: (process: ServerProcess) => T;
}

export interface StartOptions<T> {
  readonly title: string;
  /** A port chosen by the caller, which must be free; undefined if each attempt chooses a port. */
  readonly fixedPort: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly logFile: string;
  readonly plan: () => Promise<StartPlan<T>>;
}

/** Loading an executable of 250 MB for the first time takes some seconds. */
const readyTimeoutMs = MINUTE_MS;
const checkTimeoutMs = 5_000;
const checkEveryMs = 100;
const portWaitMs = 5_000;
const attempts = 4;
const logLines = 20;
/** A program that panics writes the cause first, and then where it was. */
const LOG_LINES_FOR_CAUSE = 300;
/** With this little free space, no server can work. */
const FULL_BYTES = 32 * 1024;

/** Whether a log shows that a port was in use, the only failure that is retried. */
export function isBindConflict(log: string): boolean {
  return /address already in use|EADDRINUSE|can't (?:use|bind|set) .*port|failed to bind/i.test(log);
}

/** Waits for a port, because a process that was just killed may hold it a moment longer. */
async function waitForPort(options: StartOptions<unknown>, port: number): Promise<void> {
  const until = performance.now() + portWaitMs;
  while (!(await isPortFree(port))) {
    if (performance.now() > until) {
      const why = `port ${port} is in use by another process; stop that process or choose another port`;
      throw new ServerStartError(options.title, why, options.logFile, '');
    }
    await delay(checkEveryMs, undefined, { signal: options.signal });
  }
}

/** Waits until the server is ready. Returns the reason if the process ends or the time limit is exceeded, otherwise null. */
async function waitUntilReady<T>(
  plan: StartPlan<T>,
  server: ServerProcess,
  signal: AbortSignal | undefined,
): Promise<{ why: string; hasEnded: boolean; cause?: unknown } | null> {
  let end: string | undefined;
  void server.ended.then((how) => {
    end = how;
  });
  const until = performance.now() + readyTimeoutMs;
  let cause: unknown;
  while (end === undefined && performance.now() < until) {
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(checkTimeoutMs);
    try {
      // A server that has ended does not answer, so the check is not awaited after that; its own timeout ends it.
      const checked = plan.checkReady(signal === undefined ? timeout : AbortSignal.any([timeout, signal]));
      await Promise.race([checked, server.ended]);
      // If this server has ended, the answer came from another server on the same port.
      if (end === undefined) return null;
    } catch (error) {
      cause = error;
    }
    await Promise.race([delay(checkEveryMs), server.ended]);
  }
  return end === undefined
    ? { why: `it did not answer within ${readyTimeoutMs / 1000} s`, hasEnded: false, cause }
    : { why: `it ended with ${end}`, hasEnded: true };
}

/**
 * Starts a server and waits until it answers a real request. If another process has taken its port, starts it again,
 * with another port unless the caller chose the port.
 *
 * @throws ServerStartError with the last lines of the log
 */
export async function startServer<T>(options: StartOptions<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    options.signal?.throwIfAborted();
    if (options.fixedPort !== undefined) await waitForPort(options, options.fixedPort);
    const plan = await options.plan();
    const server = startProcess(plan.command);
    try {
      const failure = await waitUntilReady(plan, server, options.signal);
      if (failure === null) return plan.result(server);
      const log = server.lastLines(logLines);
      if (attempt < attempts && isBindConflict(log)) {
        await server.kill();
        continue;
      }
      const { hasEnded, cause } = failure;
      // On a full disk, the log has nothing about it either.
      const why = isDiskFull(dirname(options.logFile)) ? 'no space left on device' : failure.why;
      throw new ServerStartError(options.title, why, options.logFile, log, {
        ...{ hasEnded, cause },
        log: server.lastLines(LOG_LINES_FOR_CAUSE),
      });
    } catch (error) {
      await server.kill();
      throw error;
    }
  }
}

function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < FULL_BYTES;
  } catch {
    return false;
  }
}

/** The given log file, or a new one in the temporary folder. */
export function logFileOr(given: string | undefined, name: string): string {
  return given ?? join(mkdtempSync(join(tmpdir(), 'worktrack-')), `${name}.log`);
}
