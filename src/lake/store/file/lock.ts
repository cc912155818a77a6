import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withFileLock } from '../../../core/file-lock.js';
import type { ProcessIdentity } from '../../../core/process-identity.js';
import { StoreError } from '../errors/store-error.js';
import { type LakeFolder, syncFolder } from './folder.js';
import { lockName, temporaryName } from './names.js';

const GIVE_UP_MS = 90_000;

/**
 * Runs `work` while holding the lock of one object, which is held for milliseconds. The lock is a file next to the object.
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
  const deadline = Date.now() + GIVE_UP_MS;
  const draft = () => join(dirname(lock), temporaryName());
  const onBusy = async (holder: ProcessIdentity | null): Promise<void> => {
    if (Date.now() > deadline) throw lockTimedOut(folder, lock, holder);
    await sleep(2 + Math.random() * 8);
  };
  return withFileLock(lock, { draft, onBusy }, async (stillHeld) => {
    await syncFolder(dirname(lock));
    return work(stillHeld);
  });
}

/** Path of an object's lock: in the same folder, with a name of fixed length. */
export function lockPathOf(path: string): string {
  const digits = createHash('sha256').update(basename(path)).digest('hex').slice(0, 32);
  return join(dirname(path), lockName(digits));
}

function lockTimedOut(folder: LakeFolder, lock: string, holder: ProcessIdentity | null): StoreError {
  return new StoreError({
    kind: 'throttled',
    operation: 'swap',
    key: null,
    bucket: folder.root,
    problem: `${lock} is held by ${holder === null ? 'changing processes' : `process ${holder.pid} on ${holder.host}`}`,
    remedy: 'Check what that process does. If it no longer exists, remove the lock.',
  });
}
