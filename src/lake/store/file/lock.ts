import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { link, open, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../../core/duration.js';
import { ownIdentity, type ProcessIdentity, stateOf } from '../../../core/process-identity.js';
import { StoreError } from '../errors/store-error.js';
import { codeOf } from './classify.js';
import { type LakeFolder, syncFolder } from './folder.js';
import { lockName, temporaryName } from './names.js';

/** A lock is held for milliseconds. An older one whose holder is not known to be alive is stale; its process id may be reused. */
const STALE_MS = MINUTE_MS;
const GIVE_UP_MS = 90_000;

interface Holder extends ProcessIdentity {
  readonly since: number;
  /** Identifies one lock of the process. */
  readonly token: string;
}

/**
 * Runs `work` while holding the lock of one object. The lock is a file next to the object that names its holder. A hard
 * link creates it with its complete content. The lock of a dead process is removed; that of a suspended process is not.
 * `work` must check `stillHeld` right before the step that changes the object.
 *
 * @throws StoreError of kind `throttled` if the lock is not free within 90 s
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
    const seen = readLock(lock);
    if (seen !== null && isStale(seen)) removeStale(lock, seen);
    else if (Date.now() > deadline) throw lockTimedOut(folder, lock, seen?.holder ?? null);
    else await sleep(2 + Math.random() * 8);
  }
  const stillHeld = () => readLock(lock)?.holder?.token === token;
  try {
    return await work(stillHeld);
  } finally {
    if (stillHeld()) await rm(lock, { force: true });
  }
}

/** Path of an object's lock: in the same folder, with a name of fixed length. */
export function lockPathOf(path: string): string {
  const digits = createHash('sha256').update(basename(path)).digest('hex').slice(0, 32);
  return join(dirname(path), lockName(digits));
}

async function tryLock(folder: LakeFolder, lock: string, token: string): Promise<boolean> {
  const holder: Holder = { ...ownIdentity(), since: Date.now(), token };
  const draft = join(dirname(lock), temporaryName());
  try {
    // Synced, so that a power failure cannot leave a lock without its holder.
    const handle = await folder.withFolder(lock, () => open(draft, 'wx'));
    try {
      await writeFile(handle, JSON.stringify(holder));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, lock);
    await syncFolder(dirname(lock));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

interface SeenLock {
  readonly text: string;
  /** `null` if the text does not describe a holder: a power failure can leave an empty file. */
  readonly holder: Holder | null;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Reads a lock; `null` if it does not exist. */
function readLock(lock: string): SeenLock | null {
  try {
    const text = readFileSync(lock, 'utf8');
    const holder = toHolder(text);
    return { text, holder, since: holder?.since ?? statSync(lock).mtimeMs };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function toHolder(text: string): Holder | null {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    const isWhole =
      typeof holder?.token === 'string' && typeof holder.pid === 'number' && typeof holder.since === 'number';
    return isWhole ? (holder as Holder) : null;
  } catch {
    return null;
  }
}

function isStale({ holder, since }: SeenLock): boolean {
  const state = holder === null ? 'unknown' : stateOf(holder);
  return state === 'unknown' ? Date.now() - since > STALE_MS : state === 'dead';
}

/**
 * Removes the lock if it is still the one that was seen. A guard folder makes reading and removing atomic, so that two
 * callers cannot remove a third one's new lock. The code is synchronous, so only a kill can leave the guard behind.
 */
function removeStale(lock: string, seen: SeenLock): void {
  const guard = `${lock}.steal`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    removeOldGuard(guard);
    return;
  }
  try {
    const now = readLock(lock);
    if (now?.text === seen.text && now.since === seen.since) unlinkSync(lock);
  } finally {
    rmdirSync(guard);
  }
}

function removeOldGuard(guard: string): void {
  try {
    if (Date.now() - statSync(guard).mtimeMs > STALE_MS) rmdirSync(guard);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function lockTimedOut(folder: LakeFolder, lock: string, holder: Holder | null): StoreError {
  return new StoreError({
    kind: 'throttled',
    operation: 'swap',
    key: null,
    bucket: folder.root,
    problem: `${lock} is held by ${holder === null ? 'changing processes' : `process ${holder.pid} on ${holder.host}`}`,
    remedy: 'Check what that process does. If it no longer exists, remove the lock.',
  });
}
