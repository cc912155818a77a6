import { createHash, hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { withFileLock } from '../../../core/file-lock.js';
import type { ProcessIdentity } from '../../../core/process-identity.js';
import { StoreError, StoreUnclearError } from '../errors.js';
import { GuardedWriter } from '../guarded-writer.js';
import type { Expected, SwapResult, WriteOptions, WrittenObject } from '../port.js';
import { ignoreAbsent, type LakeFolder, refuseLinks, syncFolder, temporaryName } from './lake-folder.js';

/** Writes a temporary file in the same folder, syncs it, and renames it at the end. The object appears complete or not at all. */
export class FileWriter extends GuardedWriter {
  readonly #folder: LakeFolder;
  readonly #path: string;
  readonly #temporary: string;
  #handle: FileHandle | null = null;

  constructor(folder: LakeFolder, key: ObjectKey, options?: WriteOptions) {
    super(key, options);
    this.#folder = folder;
    this.#path = folder.pathOf(key);
    this.#temporary = join(dirname(this.#path), temporaryName());
  }

  protected async append(chunk: Uint8Array): Promise<void> {
    await this.#folder.run('write', this.key, async () => {
      const handle = await this.#open();
      for (let offset = 0; offset < chunk.length; ) {
        offset += (await handle.write(chunk, offset)).bytesWritten;
      }
    });
  }

  protected async complete(written: WrittenObject): Promise<WrittenObject> {
    return this.#folder.run('write', this.key, async () => {
      const handle = await this.#open();
      await handle.sync();
      await handle.close();
      this.#handle = null;
      await refuseLinks(this.#folder.root, this.key);
      await rename(this.#temporary, this.#path);
      await syncFolder(dirname(this.#path));
      return written;
    });
  }

  async #open(): Promise<FileHandle> {
    if (this.#handle !== null) return this.#handle;
    const folder = this.#folder;
    await refuseLinks(folder.root, this.key);
    this.#handle = await folder.withFolder(this.#temporary, () => folder.open(this.#temporary, NEW_FILE));
    return this.#handle;
  }

  protected async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = null;
    await rm(this.#temporary, { force: true }).catch(() => {});
    await this.#folder.prune(this.#temporary);
  }
}

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** The ETag of a file: the SHA-256 of its content, so equal content has the same ETag. */
export function etagOf(body: Uint8Array): string {
  return hash('sha256', body);
}

const GIVE_UP_MS = 90_000;
/** The lock is held for milliseconds. */
const RETRY_MS = 5;

/**
 * Compares and replaces a file under a lock that all worktrack processes on this machine use: a file next to it.
 *
 * @throws StoreError of kind `throttled` if the lock is not free within 90 s
 */
export async function swapFile(
  folder: LakeFolder,
  key: ObjectKey,
  body: Uint8Array,
  expected: Expected,
): Promise<SwapResult> {
  const path = folder.pathOf(key);
  const lock = lockPathOf(path);
  const temporary = join(dirname(path), temporaryName());
  const options = {
    draft: () => join(dirname(lock), temporaryName()),
    retryEveryMs: RETRY_MS,
    giveUp: {
      afterMs: GIVE_UP_MS,
      error: (holder: ProcessIdentity | null) => lockTimedOut(folder, lock, holder),
    },
  };
  return folder.run('swap', key, async () => {
    // Before the lock, which is a file in the same folder.
    await refuseLinks(folder.root, key);
    return withFileLock(lock, options, async (stillHeld): Promise<SwapResult> => {
      await syncFolder(dirname(lock));
      if ((await etagAt(folder, path)) !== (expected === 'absent' ? null : expected.etag))
        return { outcome: 'conflict' };
      try {
        const handle = await folder.open(temporary, NEW_FILE);
        await handle
          .writeFile(body)
          .then(() => handle.sync())
          .finally(() => handle.close());
        if (!stillHeld())
          throw new StoreUnclearError({
            operation: 'swap',
            key,
            bucket: folder.root,
            problem: 'this process was paused for so long that another one took its lock',
          });
        await rename(temporary, path);
      } finally {
        await rm(temporary, { force: true });
      }
      await syncFolder(dirname(path));
      return { outcome: 'written', etag: etagOf(body) };
    });
  });
}

/** The ETag of a file of any size; `null` if there is none. */
async function etagAt(folder: LakeFolder, path: string): Promise<string | null> {
  const handle = await folder.open(path, constants.O_RDONLY).catch(ignoreAbsent);
  if (handle === null) return null;
  const digest = createHash('sha256');
  for await (const chunk of handle.createReadStream()) digest.update(chunk as Buffer);
  return digest.digest('hex');
}

/** Path of an object's lock: in the same folder, with a name of fixed length. */
export function lockPathOf(path: string): string {
  const digits = hash('sha256', basename(path)).slice(0, 32);
  return join(dirname(path), `_lock-${digits}`);
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
