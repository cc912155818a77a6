import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

interface Owner {
  readonly token: string;
  readonly pid: number;
  readonly host: string;
}

export interface LockOptions {
  readonly signal: AbortSignal;
  /** Hears once who holds the lock. */
  readonly onWait?: (pid: number) => void;
  /** Default: half a second. */
  readonly askEveryMs?: number;
}

/** A live owner touches its lock this often; one not touched for `staleAfterMs` belongs to nobody any more. */
const touchEveryMs = 5_000;
const staleAfterMs = 60_000;
const defaultAskEveryMs = 500;

async function readOwner(lock: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(join(lock, 'owner.json'), 'utf8')) as Owner;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isStale(lock: string, owner: Owner): Promise<boolean> {
  if (owner.host === hostname() && !isAlive(owner.pid)) return true;
  // The number of a dead process may belong to another by now, so being alive proves nothing without the touch.
  const touched = await stat(join(lock, 'owner.json')).catch(() => null);
  return touched !== null && Date.now() - touched.mtimeMs > staleAfterMs;
}

/** Makes the lock with its owner inside, in one step: a rename onto a folder that is not empty is refused. */
async function take(lock: string, owner: Owner): Promise<boolean> {
  const made = `${lock}.${owner.token}`;
  await mkdir(made, { recursive: true });
  await writeFile(join(made, 'owner.json'), JSON.stringify(owner));
  try {
    await rename(made, lock);
    return true;
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Runs `work` while no other process holds the lock folder, and waits for it until `signal` aborts. A lock is stale
 * when its process on this machine is gone, or when nobody (the cache may lie in a home shared between machines) has
 * touched it for a minute.
 */
export async function withLock<T>(lock: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true });
  const owner: Owner = { token: randomUUID(), pid: process.pid, host: hostname() };
  const askEveryMs = options.askEveryMs ?? defaultAskEveryMs;
  const graves: string[] = [];
  let waited = false;
  while (!(await take(lock, owner))) {
    const other = await readOwner(lock);
    if (other === null) {
      // Being released just now, or not ours to read.
      await delay(Math.min(50, askEveryMs), undefined, { signal: options.signal });
      continue;
    }
    if (await isStale(lock, other)) {
      // The grave is named after the dead owner and kept until we are done: a second process with the same opinion
      // cannot then bury the lock that we are about to take, for the grave is not empty.
      const grave = `${lock}.stale-${other.token}`;
      const buried = await rename(lock, grave).then(
        () => true,
        () => false,
      );
      if (buried) graves.push(grave);
      continue;
    }
    if (!waited) options.onWait?.(other.pid);
    waited = true;
    await delay(askEveryMs, undefined, { signal: options.signal });
  }
  const touch = setInterval(() => {
    const now = new Date();
    utimes(join(lock, 'owner.json'), now, now).catch(() => undefined);
  }, touchEveryMs);
  touch.unref();
  try {
    return await work();
  } finally {
    clearInterval(touch);
    // Moved away in one step before it is removed: while a folder is emptied, the next owner could take its place.
    const released = `${lock}.${owner.token}`;
    await rename(lock, released).catch(() => undefined);
    await Promise.all([released, ...graves].map((folder) => rm(folder, { recursive: true, force: true })));
  }
}
