import { setTimeout as delay } from 'node:timers/promises';
import { isPortFree } from './ports.js';
import { type ServerCommand, type ServerProcess, startProcess } from './server-process.js';
import { ServerStartError } from './start-error.js';

/** What every server is started with. */
export interface ServerOptions {
  /** The executable, from `resolveServer`. */
  readonly executable: string;
  /** Default: a free port, asked of the kernel. */
  readonly port?: number | undefined;
  /** Appended to. Default: a new file in the temporary folder. */
  readonly logFile?: string | undefined;
  /** Gives up starting; a server that has started is not touched by it. */
  readonly signal?: AbortSignal | undefined;
}

/** What every server that serves is. */
export interface RunningServer {
  readonly pid: number;
  readonly logFile: string;
  /** Ends it in good order; resolves when it is gone. Calling again does nothing. */
  stop(): Promise<void>;
  /** Ends it by SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/** What one attempt at starting needs; ports may differ from one attempt to the next. */
export interface StartPlan<T> {
  readonly command: ServerCommand;
  /** Asks the server something real once. Resolving means that it serves; a rejection means to ask again. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  /** What the caller is given once it serves. */
  readonly result: (process: ServerProcess) => T;
}

export interface StartOptions<T> {
  readonly title: string;
  /** A port chosen by the caller, which must be free; undefined when each attempt chooses its own. */
  readonly fixedPort: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly logFile: string;
  readonly plan: () => Promise<StartPlan<T>>;
}

/** A cold machine needs some seconds for 250 MB of executable; a hang must not last. */
const readyTimeoutMs = 60_000;
const askTimeoutMs = 5_000;
const askEveryMs = 100;
const portWaitMs = 5_000;
const attempts = 4;
const logLines = 20;

/** Whether a log tells of a port that somebody else had: the one failure that another attempt mends. */
export function isBindConflict(log: string): boolean {
  return /address already in use|EADDRINUSE|can't (?:use|bind|set) .*port|failed to bind/i.test(log);
}

/** A process just killed may hold its port a moment longer; anybody else's stays taken. */
async function waitForPort(options: StartOptions<unknown>, port: number): Promise<void> {
  const until = performance.now() + portWaitMs;
  while (!(await isPortFree(port))) {
    if (performance.now() > until) {
      const why = `port ${port} is taken by another process; stop that one or choose another port`;
      throw new ServerStartError(options.title, why, options.logFile, '');
    }
    await delay(askEveryMs, undefined, { signal: options.signal });
  }
}

/** Asks until answered; gives why not when the process ends or the time is over. */
async function waitUntilReady<T>(
  plan: StartPlan<T>,
  server: ServerProcess,
  signal: AbortSignal | undefined,
): Promise<{ why: string; cause?: unknown } | null> {
  let end: string | undefined;
  void server.ended.then((how) => {
    end = how;
  });
  const until = performance.now() + readyTimeoutMs;
  let cause: unknown;
  while (end === undefined && performance.now() < until) {
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(askTimeoutMs);
    try {
      // A server that has ended will not answer: the question is left to run into its time limit by itself.
      const asked = plan.ask(signal === undefined ? timeout : AbortSignal.any([timeout, signal]));
      await Promise.race([asked, server.ended]);
      // An answer from a server that was there before ours says nothing of ours: ours has ended then, or will be.
      if (end === undefined) return null;
    } catch (error) {
      cause = error;
    }
    await Promise.race([delay(askEveryMs), server.ended]);
  }
  return end === undefined
    ? { why: `it did not answer within ${readyTimeoutMs / 1000} s`, cause }
    : { why: `it ended with ${end}` };
}

/**
 * Starts a server and waits until it answers a real request. When another process took its port in between, it is
 * started again, on other ports where they were ours to choose.
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
      throw new ServerStartError(options.title, failure.why, options.logFile, log, { cause: failure.cause });
    } catch (error) {
      await server.kill();
      throw error;
    }
  }
}
