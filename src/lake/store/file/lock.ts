import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../errors/store-error.js';
import { codeOf } from './classify.js';
import type { LakeFolder } from './folder.js';
import { lockName, temporaryName } from './names.js';

/** A holder needs milliseconds; one that is older was suspended, or its process id now belongs to another program. */
const STALE_MS = 60_000;
const GIVE_UP_MS = 90_000;

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly since: number;
  /** Tells two locks of one process apart. */
  readonly token: string;
}

/**
 * Runs `work` while holding the lock of one object. The lock is a file beside it that names its holder; it appears
 * whole, by a hard link. The lock of a dead process is removed. `stillHeld` is to be asked right before the deciding
 * step. Throws a StoreError of kind `throttled` when the lock stays taken for 90 s.
 */
export async function withLock<T>(
  folder: LakeFolder,
  path: string,
  work: (stillHeld: () => boolean) => Promise<T>,
): Promise<T> {
  const lock = lockPathOf(path);
  const token = randomBytes(8).toString('hex');
  const deadline = Date.now() + GIVE_UP_MS;
  while (!(await tryLock(folder, lock, token))) {
    const holder = readHolder(lock);
    if (holder !== null && isStale(holder)) removeStale(lock, holder);
    else if (Date.now() > deadline) throw stuck(folder, lock, holder);
    else await sleep(2 + Math.random() * 8);
  }
  const stillHeld = () => readHolder(lock)?.token === token;
  try {
    return await work(stillHeld);
  } finally {
    if (stillHeld()) await rm(lock, { force: true });
  }
}

/** Where the lock of an object's file is: beside it, under a name of fixed length. */
export function lockPathOf(path: string): string {
  const digits = createHash('sha256').update(basename(path)).digest('hex').slice(0, 32);
  return join(dirname(path), lockName(digits));
}

async function tryLock(folder: LakeFolder, lock: string, token: string): Promise<boolean> {
  const holder: Holder = { pid: process.pid, host: hostname(), since: Date.now(), token };
  const draft = join(dirname(lock), temporaryName());
  try {
    await folder.withFolder(lock, () => writeFile(draft, JSON.stringify(holder), { flag: 'wx' }));
    await link(draft, lock);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

function readHolder(lock: string): Holder | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as Holder;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function isStale(holder: Holder): boolean {
  if (Date.now() - holder.since > STALE_MS) return true;
  return holder.host === hostname() && !isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * Removes the lock if it is still this holder's. A second lock around reading and removing keeps two callers from
 * removing a third one's new lock; all of it is synchronous, so only a kill between two system calls can leave it.
 */
function removeStale(lock: string, seen: Holder): void {
  const guard = `${lock}.steal`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    dropOldGuard(guard);
    return;
  }
  try {
    if (readHolder(lock)?.token === seen.token) unlinkSync(lock);
  } finally {
    rmdirSync(guard);
  }
}

function dropOldGuard(guard: string): void {
  try {
    if (Date.now() - statSync(guard).mtimeMs > STALE_MS) rmdirSync(guard);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function stuck(folder: LakeFolder, lock: string, holder: Holder | null): StoreError {
  return new StoreError({
    kind: 'throttled',
    operation: 'swap',
    key: null,
    bucket: folder.root,
    problem: `${lock} is held by ${holder === null ? 'others in turn' : `process ${holder.pid} on ${holder.host}`}`,
    remedy: 'See what that process does; remove the lock if it no longer exists.',
  });
}
