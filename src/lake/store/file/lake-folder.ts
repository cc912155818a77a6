import { randomBytes } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rmdir,
  stat,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { errorMessage } from '../../../core/errors.js';
import { makeFolder, systemCode } from '../../../core/system-error.js';
import { ObjectNotFoundError, StoreError, type StoreErrorKind } from '../errors.js';
import { keyProblem, toObjectKey } from '../key.js';
import type { ListedObject, ListOptions } from '../port.js';

/** The lake's folder. It maps keys to paths below it, and errors to StoreErrors. */
export class LakeFolder {
  /** @param mode permissions of the folder, if a write creates it; an existing folder keeps its own */
  constructor(
    readonly root: string,
    readonly mode: number = 0o700,
  ) {}

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
      throw this.error(operation, key, error);
    }
  }

  /** Converts a file-system error to a StoreError. StoreErrors are returned unchanged. */
  error(operation: string, key: string | null, error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    const where = { operation, key, bucket: this.root, cause: error };
    const code = systemCode(error);
    if (code === 'ENOENT' && key !== null) return new ObjectNotFoundError({ ...where, key });
    const known = code === null ? undefined : VERDICTS[code];
    const [kind, problem, remedy] = known ?? ['other', errorMessage(error), 'See the cause.'];
    const said = code === null ? {} : { said: `${code}: ${problem}` };
    return new StoreError({ ...where, kind, problem, remedy, ...said });
  }

  /**
   * Opens a file below the lake. What is read or written is never behind a symbolic link: the descriptor of the open file shows its
   * place, however links change meanwhile.
   *
   * @param flags as `open` of POSIX
   * @throws StoreError for a link; the error of the file system otherwise
   */
  async open(path: string, flags: number): Promise<FileHandle> {
    const handle = await open(path, flags | NO_FOLLOW).catch((error: unknown) => {
      throw systemCode(error) === 'ELOOP' ? linkFound(this.root, relative(this.root, path)) : error;
    });
    try {
      if (await this.#isInPlace(handle, path)) return handle;
      throw linkFound(this.root, relative(this.root, path));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Whether the path of an open file has no link below the lake's folder. The folder itself may be one. */
  async #isInPlace(handle: FileHandle, path: string): Promise<boolean> {
    const wanted = join(await realpath(this.root), relative(this.root, path));
    const place = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null);
    // A file that was replaced after it was opened is marked as deleted.
    if (place !== null) return place === wanted || place === `${wanted} (deleted)`;
    // Not on Linux: the path is looked at after the file was opened, so a link that was replaced in between is not seen.
    const found = await realpath(path).catch(ignoreAbsent);
    return found === null || found === wanted;
  }

  /** Creates a file and its folders. It tries again if `prune` of another call removed a folder meanwhile. */
  async withFolder<T>(path: string, create: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.#makeRoot();
      await makeFolder(dirname(path));
      try {
        return await create();
      } catch (error) {
        if (systemCode(error) !== 'ENOENT' || attempt === 10) throw error;
      }
    }
  }

  /** The mode of a folder is reduced by the umask of the process, so it is set afterwards. */
  async #makeRoot(): Promise<void> {
    const exists = await stat(this.root).then(
      () => true,
      () => false,
    );
    if (exists) return;
    await makeFolder(dirname(this.root));
    try {
      await mkdir(this.root, { mode: 0o700 });
      await chmod(this.root, this.mode);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }

  /** Removes folders that have become empty, up to the root. S3 has no empty folders either. */
  async prune(path: string): Promise<void> {
    for (let folder = dirname(path); folder.length > this.root.length; folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') return;
      }
    }
  }
}

/** Absent on Windows, where no link is followed that is not seen afterwards. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

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
function isReservedName(name: string): boolean {
  return TEMPORARY.test(name) || LOCK.test(name);
}

const FREE_SPACE = 'Free some space. The run continues by itself once there is space.';

/** For each Node error code: kind, problem, and what to do. */
const VERDICTS: Readonly<Record<string, readonly [StoreErrorKind, string, string]>> = {
  EACCES: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EPERM: ['access-denied', 'access is denied', 'Allow this user to read and write the folder.'],
  EROFS: ['access-denied', 'the file system is read-only', 'Use a writable folder.'],
  ENOSPC: ['full', 'the disk is full', FREE_SPACE],
  EDQUOT: ['full', "the user's quota is used up", FREE_SPACE],
  EISDIR: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  ENOTEMPTY: ['invalid-key', 'a folder has this name', 'Move the folder that is in the way.'],
  EEXIST: ['invalid-key', 'a file exists where a folder is needed', 'Move the file that is in the way.'],
  ENOTDIR: ['invalid-key', 'a file exists where a folder is needed', 'Move the file that is in the way.'],
  EMFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
  ENFILE: ['throttled', 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
};

/** Whether the error means that the file does not exist, also because a file or folder has the wrong type. */
export function isAbsent(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}

/** A file, a folder or a symbolic link below the lake's folder. */
interface Entry {
  /** Folder names end with a slash. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

/**
 * Lists objects whose key begins with `prefix`, in byte order of the keys, as S3 does. Files that are removed meanwhile
 * are skipped. Sockets and files whose names are not valid keys are not objects.
 *
 * @throws StoreError for a symbolic link below the prefix or in its path: the files behind it would not be listed, and
 *   clean-up and purge would not remove them
 */
export async function* walk(
  root: string,
  prefix: string,
  { skipUnreadable = () => false }: ListOptions = {},
): AsyncGenerator<ListedObject, void, undefined> {
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  await refuseLinks(root, folder);
  yield* below(root, prefix, folder, skipUnreadable);
}

/** The key of a folder whose entries this user may not list; `null` for another error. */
export function deniedFolder(root: string, error: unknown): string | null {
  const { path } = isDenied(error) ? (error as NodeJS.ErrnoException) : {};
  return path === undefined ? null : relative(root, path);
}

export function isDenied(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'EACCES' || code === 'EPERM';
}

async function* below(
  root: string,
  prefix: string,
  folder: string,
  skipUnreadable: (folder: string) => boolean,
): AsyncGenerator<ListedObject, void, undefined> {
  const entries = await entriesOf(join(root, folder)).catch((error: unknown) => {
    if (isDenied(error) && skipUnreadable(folder)) return [];
    throw error;
  });
  for (const entry of entries) {
    const key = folder + entry.name;
    if (entry.isLink && key.startsWith(prefix)) throw linkFound(root, key);
    if (entry.isFolder) {
      if (key.startsWith(prefix)) yield* below(root, prefix, key, skipUnreadable);
      continue;
    }
    if (!key.startsWith(prefix) || isReservedName(entry.name) || keyProblem(key) !== null) continue;
    const info = await lstat(join(root, key)).catch(ignoreAbsent);
    if (info !== null)
      yield { key: key as ObjectKey, bytes: info.size, modifiedAt: Math.floor(info.mtimeMs) };
  }
}

/** Names of the folders directly below `folder` that hold an object at any depth. */
export async function foldersOf(
  root: string,
  folder: string,
  { skipUnreadable = () => false }: Pick<ListOptions, 'skipUnreadable'> = {},
): Promise<string[]> {
  const names: string[] = [];
  await refuseLinks(root, folder);
  for (const entry of await entriesOf(join(root, folder))) {
    if (entry.isLink) throw linkFound(root, folder + entry.name);
    if (!entry.isFolder) continue;
    const first = await below(root, folder + entry.name, folder + entry.name, skipUnreadable).next();
    if (!first.done) names.push(entry.name.slice(0, -1));
  }
  return names;
}

/** Entries of one folder. A folder sorts as `name/`, as the keys below it do. */
export async function entriesOf(path: string): Promise<Entry[]> {
  const found: Dirent[] | null = await readdir(path, { withFileTypes: true }).catch(ignoreAbsent);
  return (found ?? [])
    .filter((entry) => entry.isFile() || entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => ({
      name: entry.isDirectory() ? `${entry.name}/` : entry.name,
      isFolder: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

/** The lake's folder itself may be a link. @throws StoreError if the file or a folder in its path below the lake is a link */
export async function refuseLinks(root: string, key: string): Promise<void> {
  let at = '';
  for (const segment of key.split('/').filter((name) => name !== '')) {
    at += at === '' ? segment : `/${segment}`;
    const found = await lstat(join(root, at)).catch(ignoreAbsent);
    if (found === null) return;
    if (found.isSymbolicLink()) throw linkFound(root, at);
  }
}

function linkFound(root: string, key: string): StoreError {
  return new StoreError({
    kind: 'invalid-key',
    operation: 'list',
    key,
    bucket: root,
    problem:
      'it is a symbolic link, and files behind a link below the lake are not listed, removed or purged',
    remedy:
      'Replace the link with the folder itself, mount the folder there (`mount --bind`), or make the whole lake folder a link.',
  });
}

/** For `catch` of a call of the file system: `null` if there is no such file. */
export function ignoreAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
