import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process. The id alone is not enough, because a later process may reuse it. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** Boot, pid namespace and start time of the process; absent if the system does not provide them (not Linux). */
  readonly started?: string;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  const started = startOf(process.pid);
  const identity = { pid: process.pid, host: hostname() };
  return typeof started === 'string' ? { ...identity, started } : identity;
}

/**
 * Whether the process that left its identity still exists. A suspended process is alive. `unknown`: it ran on another
 * machine or in another container, or the system does not provide its start time.
 */
export function stateOf({ pid, host, started }: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (host !== hostname()) return 'unknown';
  const namespace = namespaceOf();
  // Another machine or container may have the same host name.
  if (started !== undefined && (namespace === null || !started.startsWith(`${namespace} `))) return 'unknown';
  if (!isAlive(pid)) return 'dead';
  if (started === undefined) return 'unknown';
  const now = startOf(pid);
  if (now === null) return 'unknown';
  return now === started ? 'alive' : 'dead';
}

/** Whether a process with this id exists; it may be a later one. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** proc(5): field 3 is the state, field 22 the start in clock ticks since boot. The name in field 2 may contain any character. */
function startOf(pid: number): string | 'ended' | null {
  const namespace = namespaceOf();
  if (namespace === null) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, but its parent has not yet read its exit status.
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${namespace} ${fields[19]}`;
  } catch {
    return null;
  }
}

/** Boot id and pid namespace, which start times and process ids are relative to; `null` if the system does not provide them. */
function namespaceOf(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}
