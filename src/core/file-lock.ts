import { randomUUID } from 'node:crypto';
import { constants, mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { copyFile, link, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EpochMs } from './brands.js';
import { ownIdentity, type ProcessIdentity, stateOf } from './process-identity.js';
import { makeFolder, systemCode } from './system-error.js';

/** A holder touches its lock at this interval. */
const TOUCH_MS = 5_000;
/** A lock that was not touched for so long is stale, unless its holder is known to be alive: its process id may be reused. */
const STALE_MS = 60_000;

/** Average time between two tries. A lock is held for seconds, unless the caller knows better. */
const RETRY_MS = 500;

export interface FileLockOptions {
  /** Ends the wait. Default: the wait lasts until the lock is free. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, with the process that holds the lock. */
  readonly onWait?: ((holder: ProcessIdentity) => void) | undefined;
  readonly retryEveryMs?: number;
  /** Ends the wait after a time with an error. The holder is `null` if the file does not name one. */
  readonly giveUp?: { readonly afterMs: number; readonly error: (holder: ProcessIdentity | null) => Error };
  /** A new path in the lock's folder, for a temporary file. Default: the lock's path with a random ending. */
  readonly draft?: () => string;
}

interface LockHolder extends ProcessIdentity {
  /** Identifies one lock of the process. */
  readonly token: string;
}

/**
 * Runs `work` while holding a lock, a file that names its holder. The lock of a dead process is removed; that of a
 * suspended process is not. Where it is not known whether the holder is alive (on another machine or in another container,
 * or not on Linux), the lock is stale if it was not touched for a minute. `work` must call `stillHeld` right before a step
 * that needs the lock if it can lose the lock this way.
 */
export async function withFileLock<T>(
  path: string,
  {
    signal,
    onWait,
    retryEveryMs = RETRY_MS,
    giveUp,
    draft = () => `${path}.${randomUUID()}`,
  }: FileLockOptions,
  work: (stillHeld: () => boolean) => Promise<T>,
): Promise<T> {
  const holder: LockHolder = { ...ownIdentity(), token: randomUUID() };
  const deadline = Date.now() + (giveUp?.afterMs ?? Number.POSITIVE_INFINITY);
  let told = false;
  for (;;) {
    const seen = readLock(path);
    if (seen === null) {
      if (await tryCreate(path, draft(), holder)) break;
    } else if (isStale(seen)) {
      if (!removeStale(path, seen)) await sleep(2 + Math.random() * 8);
    } else {
      if (giveUp !== undefined && Date.now() > deadline) throw giveUp.error(seen.holder);
      if (!told && seen.holder !== null) onWait?.(seen.holder);
      told ||= seen.holder !== null;
      await sleep(retryEveryMs * (0.5 + Math.random()), undefined, { signal });
    }
  }
  const stillHeld = () => readLock(path)?.holder?.token === holder.token;
  const touch = async () => {
    if (stillHeld()) await utimes(path, new Date(), new Date());
  };
  const timer = setInterval(() => touch().catch(() => undefined), TOUCH_MS);
  timer.unref();
  try {
    return await work(stillHeld);
  } finally {
    clearInterval(timer);
    if (stillHeld()) await rm(path, { force: true });
  }
}

/** Creates the lock with its complete content. Returns `false` if it exists, or if its folder was removed meanwhile. */
async function tryCreate(path: string, draft: string, holder: LockHolder): Promise<boolean> {
  await makeFolder(dirname(path));
  try {
    // Synced, so that a power failure cannot leave a lock without its holder.
    await writeFile(draft, JSON.stringify(holder), { flag: 'wx', flush: true });
    await link(draft, path).catch(async (error) => {
      if (!LINKS_UNSUPPORTED.has(systemCode(error))) throw error;
      // Until the copy is complete, the lock does not name its holder and is too new to be stale.
      await copyFile(draft, path, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST' || systemCode(error) === 'ENOENT') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Errors of file systems without hard links, such as exFAT. */
const LINKS_UNSUPPORTED: ReadonlySet<unknown> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

interface SeenLock {
  readonly text: string;
  /** `null` if the text does not describe a holder: a power failure can leave an empty file. */
  readonly holder: LockHolder | null;
  readonly touchedMs: EpochMs;
}

/** Reads a lock; `null` if it does not exist. */
function readLock(path: string): SeenLock | null {
  try {
    const text = readFileSync(path, 'utf8');
    return { text, holder: toHolder(text), touchedMs: statSync(path).mtimeMs };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function toHolder(text: string): LockHolder | null {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder> | null;
    return typeof holder?.token === 'string' && typeof holder.pid === 'number'
      ? (holder as LockHolder)
      : null;
  } catch {
    return null;
  }
}

function isStale({ holder, touchedMs }: SeenLock): boolean {
  const state = holder === null ? 'unknown' : stateOf(holder);
  return state === 'unknown' ? Date.now() - touchedMs > STALE_MS : state === 'dead';
}

/**
 * Removes the lock if it is still the one that was seen. A guard folder makes reading and removing atomic, so that two
 * callers cannot remove a third one's new lock. The code is synchronous, so only a kill can leave the guard behind.
 * Returns `false` if another caller has the guard.
 */
function removeStale(path: string, seen: SeenLock): boolean {
  const guard = `${path}.steal`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    removeOldGuard(guard);
    return false;
  }
  try {
    const now = readLock(path);
    if (now?.text === seen.text && now.touchedMs === seen.touchedMs) unlinkSync(path);
  } finally {
    rmdirSync(guard);
  }
  return true;
}

function removeOldGuard(guard: string): void {
  try {
    if (Date.now() - statSync(guard).mtimeMs > STALE_MS) rmdirSync(guard);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
