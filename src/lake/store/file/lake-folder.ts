import { randomBytes } from 'node:crypto';
import { open, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { errorMessage } from '../../../core/errors.js';
import { makeFolder } from '../../../core/system-error.js';
import { ObjectNotFoundError, StoreError, type StoreErrorKind } from '../errors.js';
import { toObjectKey } from '../key.js';

/** The lake's folder. It maps keys to paths below it, and errors to StoreErrors. */
export class LakeFolder {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** Throws `invalid-key` for a key outside the folder, or with the name of a temporary file or lock. */
  pathOf(key: ObjectKey): string {
    const segments = toObjectKey(key).split('/');
    if (segments.some(isReservedName)) {
      throw new StoreError({
        kind: 'invalid-key',
        operation: 'use',
        key,
        bucket: this.root,
        problem: 'names of this form are reserved for temporary files and locks',
        remedy: 'Choose another name.',
      });
    }
    return join(this.root, ...segments);
  }

  async run<T>(operation: string, key: string | null, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toFileStoreError(error, { operation, key, folder: this.root });
    }
  }

  /** Creates a file and its folders. It tries again if `prune` of another call removed a folder meanwhile. */
  async withFolder<T>(path: string, create: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await makeFolder(dirname(path));
      try {
        return await create();
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === 10) throw error;
      }
    }
  }

  /** Removes folders that have become empty, up to the root. S3 has no empty folders either. */
  async prune(path: string): Promise<void> {
    for (let folder = dirname(path); folder.length > this.root.length; folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') return;
      }
    }
  }
}

/** Makes a rename in a folder durable across a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Files in the lake's folder that are not objects: temporary files and locks. Their names begin with `_`, so query engines
 * skip them. Keys cannot use these names.
 */
const TEMPORARY = /^_tmp-[0-9a-f]{16}$/;
const LOCK = /^_lock-[0-9a-f]{32}(\.steal)?$/;

export function temporaryName(): string {
  return `_tmp-${randomBytes(8).toString('hex')}`;
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Whether a name is reserved: no key may have it, and no listing includes it. */
export function isReservedName(name: string): boolean {
  return TEMPORARY.test(name) || LOCK.test(name);
}

interface FileContext {
  readonly operation: string;
  readonly key: string | null;
  /** The lake's folder. */
  readonly folder: string;
}

/** For each Node error code: kind, problem, and what to do. */
const VERDICTS: Readonly<Record<string, readonly [StoreErrorKind, string, string]>> = {
  EACCES: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EPERM: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EROFS: ['access-denied', 'the file system is read-only', 'Use a writable folder.'],
  ENOSPC: ['other', 'the disk is full', 'Free some space, then run again. Nothing was published.'],
  EDQUOT: ['other', "the user's quota is used up", 'Free some space, then run again. Nothing was published.'],
  EISDIR: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  ENOTEMPTY: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  EEXIST: ['invalid-key', 'a file exists where a folder is needed', 'Move the file that is in the way.'],
  ENOTDIR: ['invalid-key', 'a file exists where a folder is needed', 'Move the file that is in the way.'],
  EMFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
  ENFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
};

/** Converts a file-system error to a StoreError. StoreErrors are returned unchanged. */
export function toFileStoreError(error: unknown, context: FileContext): StoreError {
  if (error instanceof StoreError) return error;
  const where = { operation: context.operation, key: context.key, bucket: context.folder, cause: error };
  const code = codeOf(error);
  if (code === 'ENOENT' && context.key !== null)
    return new ObjectNotFoundError({ ...where, key: context.key });
  const [kind, problem, remedy] = (code === null ? undefined : VERDICTS[code]) ?? [
    'other',
    errorMessage(error),
    'See the cause.',
  ];
  return new StoreError({
    ...where,
    kind,
    problem,
    remedy,
    ...(code === null ? {} : { said: `${code}: ${problem}` }),
  });
}

/** Node's error code, such as `ENOENT`. */
export function codeOf(error: unknown): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}

/** Whether the error means that the file does not exist, also because a file or folder has the wrong type. */
export function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}
