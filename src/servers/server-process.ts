import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Environment } from './cache.js';
import { killWithHost } from './host-exit.js';
import { parentDeathPrefix } from './parent-death.js';

export interface ServerCommand {
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Appended to; created with its folder, readable by this user only. */
  readonly logFile: string;
}

/** A running server. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, with what ended it: `exit code 1`, `SIGKILL`, or why it never began. */
  readonly ended: Promise<string>;
  /** Asks it to end (SIGTERM), insists after ten seconds (SIGKILL), and resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it at once (SIGKILL), as a power cut would, and resolves when it is gone. */
  kill(): Promise<void>;
  /** What this process has written to the log so far, at most the last `lines` lines. */
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
 * Starts a server with its output in a log file. It dies with this process as far as the system allows, and does not
 * keep this process alive.
 */
export function startProcess(command: ServerCommand): ServerProcess {
  mkdirSync(dirname(command.logFile), { recursive: true });
  const log = openSync(command.logFile, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const [file = command.executable, ...args] = [...parentDeathPrefix(), command.executable, ...command.args];
  const child = spawn(file, args, {
    env: command.env as NodeJS.ProcessEnv,
    stdio: ['ignore', log, log],
    detached: false,
  });
  closeSync(log);
  killWithHost(child);
  child.unref();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    // Whoever waits for the end must not find the event loop empty.
    child.ref();
    child.kill(signal);
    const insist = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    await ended;
    clearTimeout(insist);
  };
  return {
    pid: child.pid ?? -1,
    ended,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    lastLines: (lines) => readTail(command.logFile, logStart).trimEnd().split('\n').slice(-lines).join('\n'),
  };
}
