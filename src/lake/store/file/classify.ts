import { ObjectNotFoundError } from '../errors/object-not-found-error.js';
import { StoreError, type StoreErrorKind } from '../errors/store-error.js';

export interface FileContext {
  readonly operation: string;
  readonly key: string | null;
  /** The lake's folder. */
  readonly folder: string;
}

/** Node's codes by what they mean to a lake: kind, problem, what to do. */
const VERDICTS: Readonly<Record<string, readonly [StoreErrorKind, string, string]>> = {
  EACCES: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EPERM: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EROFS: ['access-denied', 'the file system is read-only', 'Use a folder that can be written.'],
  ENOSPC: ['other', 'the disk is full', 'Make room, then run again: nothing was published.'],
  EDQUOT: ['other', "the user's quota is used up", 'Make room, then run again: nothing was published.'],
  EISDIR: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  ENOTEMPTY: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  EEXIST: ['invalid-key', 'a file stands where a folder is needed', 'Move the file that is in the way.'],
  ENOTDIR: ['invalid-key', 'a file stands where a folder is needed', 'Move the file that is in the way.'],
  EMFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
  ENFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
};

/** Makes a StoreError of an error of the file system. StoreErrors pass unchanged. */
export function toFileStoreError(error: unknown, context: FileContext): StoreError {
  if (error instanceof StoreError) return error;
  const where = { operation: context.operation, key: context.key, bucket: context.folder, cause: error };
  const code = codeOf(error);
  if (code === 'ENOENT' && context.key !== null)
    return new ObjectNotFoundError({ ...where, key: context.key });
  const [kind, problem, remedy] = (code === null ? undefined : VERDICTS[code]) ?? [
    'other',
    error instanceof Error ? error.message : String(error),
    'See the cause.',
  ];
  return new StoreError({ ...where, kind, problem, remedy });
}

/** Node's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}

/** Whether there is no such file: also where a file stands in a folder's place, or a folder in the file's. */
export function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}
