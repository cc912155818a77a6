import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, statfsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/duration.js';
import type { Environment } from '../../core/home-folder.js';
import { makeFolderSync } from '../../core/system-error.js';
import { ServerStartError } from '../errors.js';
import { killWithHost } from '../run-command.js';

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

/** A server that is ready. `stop` and `kill` can be called again. */
export interface RunningServer extends Pick<ServerProcess, 'pid' | 'stop' | 'kill'> {
  readonly logFile: string;
}

/** One attempt to start a server; each attempt may use other ports. */
interface StartPlan<T> {
  readonly args: readonly string[];
  readonly env: Environment;
  /** Sends a real request. Resolves if the server is ready; after a rejection, it is called again. */
  readonly checkReady: (signal: AbortSignal) => Promise<unknown>;
  /** What the result says about the server. */
  readonly details: T;
}

/** Loading an executable of 250 MB for the first time takes some seconds. */
const readyTimeoutMs = MINUTE_MS;
/** Of one request to a server that starts. */
export const checkTimeoutMs = 5_000;
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
  return /address already in use|EADDRINUSE|can't (?:use|bind|set) |failed to bind/i.test(log);
}

/** Waits for a port, because a process that was just killed may hold it a moment longer. */
async function waitForPort(
  port: number,
  { title, logFile, signal }: { title: string; logFile: string; signal: AbortSignal | undefined },
): Promise<void> {
  const until = performance.now() + portWaitMs;
  while (!(await isPortFree(port))) {
    if (performance.now() > until) {
      const why = `port ${port} is in use by another process; stop that process or choose another port`;
      throw new ServerStartError(title, why, logFile, '');
    }
    await delay(checkEveryMs, undefined, { signal });
  }
}

/** Waits until the server is ready. Returns the reason if the process ends or the time limit is exceeded, otherwise null. */
async function waitUntilReady(
  checkReady: StartPlan<unknown>['checkReady'],
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
      const checked = checkReady(signal === undefined ? timeout : AbortSignal.any([timeout, signal]));
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
 * @param plan receives the port
 * @throws ServerStartError with the last lines of the log
 */
export async function startServer<T>(
  { title, command }: { readonly title: string; readonly command: string },
  options: ServerOptions,
  plan: (port: number) => StartPlan<T> | Promise<StartPlan<T>>,
): Promise<T & ServerProcess & { readonly logFile: string }> {
  const { executable, port, signal } = options;
  const logFile = options.logFile ?? join(mkdtempSync(join(tmpdir(), 'worktrack-')), `${command}.log`);
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    if (port !== undefined) await waitForPort(port, { title, logFile, signal });
    const { args, env, checkReady, details } = await plan(port ?? (await freePort()));
    const server = startProcess({ executable, args, env, logFile });
    try {
      const failure = await waitUntilReady(checkReady, server, signal);
      if (failure === null) return { ...details, ...server, logFile };
      const log = server.lastLines(logLines);
      if (attempt < attempts && isBindConflict(log)) {
        await server.kill();
        continue;
      }
      const { hasEnded, cause } = failure;
      // On a full disk, the log has nothing about it either.
      const why = isDiskFull(dirname(logFile)) ? 'no space left on device' : failure.why;
      throw new ServerStartError(title, why, logFile, log, {
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

interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, with the cause: `exit code 1`, `SIGKILL`, or the error if it could not start. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM, and SIGKILL after ten seconds. Resolves when the process has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** The last lines that this process has written to the log. */
  lastLines(lines: number): string;
}

const stopGraceMs = 10_000;
const tailBytes = 32_768;

function readTail(file: string, from: number): string {
  const log = openSync(file, 'r');
  try {
    const size = fstatSync(log).size;
    const start = Math.max(from, size - tailBytes);
    const buffer = Buffer.alloc(Math.max(0, size - start));
    return buffer.toString('utf8', 0, readSync(log, buffer, 0, buffer.length, start));
  } finally {
    closeSync(log);
  }
}

/**
 * Starts a server in its own process group, with its output in a log file. The server is killed when this process ends,
 * as far as the system allows, and does not keep this process alive.
 *
 * @param command `logFile`: the output is appended to it. It is created with its folder, readable by this user only
 */
export function startProcess(
  command: Pick<StartPlan<unknown>, 'args' | 'env'> & Record<'executable' | 'logFile', string>,
): ServerProcess {
  makeFolderSync(dirname(command.logFile));
  const log = openSync(command.logFile, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const [file = command.executable, ...args] = [...parentDeathPrefix(), command.executable, ...command.args];
  const child = spawn(file, args, {
    env: command.env as NodeJS.ProcessEnv,
    stdio: ['ignore', log, log],
    // A new process group: a terminal's Ctrl-C reaches only this process, which still needs the server while it drains.
    detached: true,
  });
  closeSync(log);
  killWithHost(child);
  child.unref();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    // Keeps the event loop alive until the process has ended.
    child.ref();
    child.kill(signal);
    const killTimer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    await ended;
    clearTimeout(killTimer);
  };
  return {
    pid: child.pid ?? -1,
    ended,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    lastLines: (lines) => readTail(command.logFile, logStart).trimEnd().split('\n').slice(-lines).join('\n'),
  };
}

let prefix: readonly string[] | undefined;

/**
 * A command prefix that makes the kernel kill a child when this process dies, even by kill -9: `setpriv` of util-linux
 * sets the parent-death signal and then executes the command with the same process id. Empty if `setpriv` does not
 * support it (other systems, BusyBox); then children are killed only when this process exits normally.
 */
export function parentDeathPrefix(): readonly string[] {
  if (prefix === undefined) {
    const setpriv = ['setpriv', '--pdeathsig', 'KILL', '--'];
    const [command = '', ...args] = setpriv;
    const works =
      process.platform === 'linux' &&
      spawnSync(command, [...args, 'true'], { stdio: 'ignore', timeout: 5_000 }).status === 0;
    prefix = works ? setpriv : [];
  }
  return prefix;
}

/** All servers listen on loopback only. */
export const loopback = '127.0.0.1';

/** Listens briefly on a loopback port; 0 lets the kernel choose. Rejects with EADDRINUSE if the port is in use. */
async function tryPort(port: number): Promise<number> {
  const server = createServer().listen(port, loopback);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return address.port;
}

/** A free loopback port. Another process may take it before it is used, so callers must retry. */
export function freePort(): Promise<number> {
  return tryPort(0);
}

/** Whether a loopback port is free. @throws any error other than EADDRINUSE */
export async function isPortFree(port: number): Promise<boolean> {
  try {
    await tryPort(port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
