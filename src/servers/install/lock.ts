import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/duration.js';
import { ownIdentity, type ProcessIdentity, stateOf } from '../../core/process-identity.js';

interface Owner extends ProcessIdentity {
  readonly token: string;
}

interface LockOptions {
  readonly signal: AbortSignal;
  /** Called once with the process id of the owner if the lock is taken. */
  readonly onWait?: (pid: number) => void;
  /** Default: half a second. */
  readonly retryEveryMs?: number;
}

/**
 * A live owner touches its lock at this interval. A lock that was not touched for `staleAfterMs` is stale, unless its
 * owner is known to be alive: a suspended process keeps its lock.
 */
const touchEveryMs = 5_000;
const staleAfterMs = MINUTE_MS;
const defaultRetryEveryMs = 500;

/** `null` for a lock that is being released, or whose owner cannot be read. */
async function readOwner(lock: string): Promise<Owner | null> {
  try {
    const owner = JSON.parse(await readFile(join(lock, 'owner.json'), 'utf8')) as Partial<Owner> | null;
    return typeof owner?.token === 'string' && typeof owner.pid === 'number' ? (owner as Owner) : null;
  } catch {
    return null;
  }
}

async function isStale(lock: string, owner: Owner | null): Promise<boolean> {
  const state = owner === null ? 'unknown' : stateOf(owner);
  if (state !== 'unknown') return state === 'dead';
  const touched = await stat(join(lock, 'owner.json'))
    .catch(() => stat(lock))
    .catch(() => null);
  return touched !== null && Date.now() - touched.mtimeMs > staleAfterMs;
}

/** Creates the lock folder with its owner file in one step: a rename onto a non-empty folder fails. */
async function tryAcquire(lock: string, owner: Owner): Promise<boolean> {
  const created = `${lock}.${owner.token}`;
  await mkdir(created, { recursive: true });
  await writeFile(join(created, 'owner.json'), JSON.stringify(owner));
  try {
    await rename(created, lock);
    return true;
  } catch (error) {
    await rm(created, { recursive: true, force: true });
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/**
/**
 * Runs `work` while holding the lock folder, and waits for the lock until `signal` aborts. A lock is stale if its process
 * on this machine has ended. Where that is not known (the home folder may be shared between machines), it is stale if it
 * was not touched for a minute.
 */
export async function withLock<T>(lock: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true });
  const owner: Owner = { token: randomUUID(), ...ownIdentity() };
  const retryEveryMs = options.retryEveryMs ?? defaultRetryEveryMs;
  const staleLocks: string[] = [];
  let waited = false;
  while (!(await tryAcquire(lock, owner))) {
    const other = await readOwner(lock);
    const isTaken = !(await isStale(lock, other));
    if (other === null && isTaken) {
      // The lock is being released, or its owner file is not readable.
      await delay(Math.min(50, retryEveryMs), undefined, { signal: options.signal });
      continue;
    }
    if (!isTaken) {
      // The stale lock is renamed to a name with its owner's token and kept until the end. If another process also saw the
      // stale lock, its rename fails because the target is not empty, so it cannot remove the new lock.
      const staleLock = `${lock}.stale-${other?.token ?? randomUUID()}`;
      const moved = await rename(lock, staleLock).then(
        () => true,
        () => false,
      );
      // Without a token the name protects nothing: a lock that was acquired meanwhile goes back.
      const isAnother = moved && other === null && (await readOwner(staleLock)) !== null;
      if (isAnother) await rename(staleLock, lock).catch(() => undefined);
      else if (moved) staleLocks.push(staleLock);
      continue;
    }
    if (!waited && other !== null) options.onWait?.(other.pid);
    waited = true;
    await delay(retryEveryMs, undefined, { signal: options.signal });
  }
  const isOurs = async (): Promise<boolean> => (await readOwner(lock))?.token === owner.token;
  const touch = setInterval(async () => {
    const now = new Date();
    if (await isOurs()) await utimes(join(lock, 'owner.json'), now, now).catch(() => undefined);
  }, touchEveryMs);
  touch.unref();
  try {
    return await work();
  } finally {
    clearInterval(touch);
    // Renamed before it is deleted, because the next owner could acquire the lock while the folder is being deleted.
    const released = `${lock}.${owner.token}`;
    // A lock that another process acquired stays.
    if (await isOurs()) await rename(lock, released).catch(() => undefined);
    await Promise.all(
      [released, ...staleLocks].map((folder) => rm(folder, { recursive: true, force: true })),
    );
  }
}
