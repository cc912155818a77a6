import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../../core/system-error.js';
import { killWithHost } from '../commands/run-command.js';
import type { Environment } from '../install/cache.js';
import { parentDeathPrefix } from './parent-death.js';

export interface ServerCommand {
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** The output is appended to this file, which is created with its folder and readable by this user only. */
  readonly logFile: string;
}

/** A running server. */
export interface ServerProcess {
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
 */
export function startProcess(command: ServerCommand): ServerProcess {
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
