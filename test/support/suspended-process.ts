import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { ownIdentity, type ProcessIdentity } from '../../src/core/process-identity.js';

export interface SuspendedProcess {
  readonly identity: ProcessIdentity;
  kill(): void;
}

/** Starts a process, suspends it, and returns the identity that it would leave in a lock (`src/core/process-identity.ts`). */
export async function startSuspendedProcess(): Promise<SuspendedProcess> {
  const sleeper = spawn('sleep', ['60']);
  await once(sleeper, 'spawn');
  const pid = sleeper.pid!;
  process.kill(pid, 'SIGSTOP');
  const own = ownIdentity();
  const namespace = own.started!.split(' ').slice(0, -1).join(' ');
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return { identity: { ...own, pid, started: `${namespace} ${start}` }, kill: () => sleeper.kill('SIGKILL') };
}
