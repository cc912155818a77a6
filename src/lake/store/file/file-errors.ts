import { errorMessage } from '../../../core/errors.js';
import { ObjectNotFoundError, StoreError, type StoreErrorKind } from '../errors.js';

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
