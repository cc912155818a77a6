import { accessSync, constants, mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { errorMessage, WorktrackError } from './errors.js';
import { nearestFolder } from './home-folder.js';

/** What a system's error code means, and what to do. Node's own messages name only the code and the call. */
const MEANINGS: Readonly<Record<string, readonly [why: string, remedy: string]>> = {
  EACCES: ['permission denied', 'Allow this user to do it, or choose another path.'],
  EPERM: ['permission denied', 'Allow this user to do it, or choose another path.'],
  EROFS: ['the file system is read-only', 'Use a writable folder.'],
  ENOSPC: ['the disk is full', 'Free some space, then run the command again.'],
  EDQUOT: ["the user's quota is used up", 'Free some space, then run the command again.'],
  EFBIG: ['the file is larger than the system allows', 'Raise the limit of the file size (ulimit -f).'],
  EMFILE: ['too many files are open', 'Raise the limit of open files (ulimit -n).'],
  ENFILE: ['too many files are open on this machine', "Raise the machine's limit of open files."],
  EAGAIN: ['too many processes or threads are running', 'Raise the limit of processes (ulimit -u).'],
  ENOMEM: ['there is too little memory', 'Give the process more memory.'],
  EIO: ['the disk reports an error', 'Check the disk.'],
  ENXIO: ['the device is not there', 'Check the path.'],
  ENODEV: ['the device is not there', 'Check the path.'],
  ESTALE: ['the network file system no longer has it', 'Check the mount.'],
  ENOENT: ['it does not exist', 'Check the path.'],
  ENOTDIR: ['a part of the path is a file', 'Check the path.'],
  EISDIR: ['it is a folder', 'Name a file.'],
  EEXIST: ['it already exists', 'Move it, or choose another path.'],
  ENOTEMPTY: ['the folder is not empty', 'Move its files, or choose another path.'],
  ELOOP: ['its symbolic links form a loop', 'Check the path.'],
  ENAMETOOLONG: ['the name is too long', 'Choose a shorter name.'],
  EXDEV: ['the two paths are on different disks', 'Choose a path on the same disk.'],
  EBUSY: ['another process uses it', 'End that process, then run the command again.'],
  ETXTBSY: ['another process uses it', 'End that process, then run the command again.'],
  EADDRINUSE: ['another process uses this port', 'Choose another port.'],
  EADDRNOTAVAIL: ['this machine does not have this address', "Choose one of this machine's addresses."],
  ECONNREFUSED: ['the connection was refused', 'Check that the server is running, and its address.'],
  ECONNRESET: ['the connection was closed by the other side', 'Run the command again.'],
  EPIPE: ['the connection was closed by the other side', 'Run the command again.'],
  ETIMEDOUT: ['there was no answer', 'Check the address and the network.'],
  EHOSTUNREACH: ['the host cannot be reached', 'Check the address and the network.'],
  ENETUNREACH: ['the network cannot be reached', 'Check the network.'],
  ENETDOWN: ['the network is down', 'Check the network.'],
  ENOTFOUND: ['the host name is unknown', 'Check the address and the DNS.'],
  EAI_AGAIN: ['the host name could not be looked up', 'Check the network and the DNS.'],
};

/** What the calls of the system do, in words. Other calls are named as they are. */
const CALLS: Readonly<Record<string, string>> = {
  ...{ open: 'open', read: 'read', stat: 'read', lstat: 'read', fstat: 'read', scandir: 'read the folder' },
  ...{ opendir: 'read the folder', readlink: 'read', access: 'use', copyfile: 'copy', write: 'write' },
  ...{
    mkdir: 'create the folder',
    mkdtemp: 'create the temporary folder',
    ftruncate: 'write',
    fsync: 'write',
  },
  ...{ rename: 'rename', link: 'create', symlink: 'create', unlink: 'remove', rmdir: 'remove', rm: 'remove' },
  ...{ utime: 'change', futime: 'change', chmod: 'change', fchmod: 'change', chown: 'change' },
  ...{ listen: 'listen on', bind: 'listen on', connect: 'connect to', getaddrinfo: 'find the host' },
  ...{ spawn: 'start', uv_cwd: 'use the working folder', kill: 'end a process' },
  ...{ uv_os_homedir: 'find the home folder of this user', uv_os_get_passwd: 'find the name of this user' },
};

/** An error of Node, with what the call was about. */
type CallError = NodeJS.ErrnoException & Partial<Record<'dest' | 'address' | 'port' | 'hostname', string>>;

/** A call to the system failed for a reason outside of this program: the disk, a permission, a limit or the network. */
export class SystemError extends WorktrackError {
  readonly code = 'SYSTEM';
}

/** What a failed call of Node means, such as `the disk is full`; for any other error, its message. */
export function systemCause(error: unknown): string {
  return meaningOf(error)?.[0] ?? errorMessage(error);
}

/**
 * Converts an error of the system to one that says in words what failed, where, why, and what to do. `null`: it is no such
 * error, or one that no situation outside of this program explains.
 */
export function toSystemError(error: unknown): SystemError | null {
  const meaning = meaningOf(error);
  if (meaning === null) return null;
  const [why, remedy] = meaning;
  const { syscall = '', path, dest, address, port, hostname } = error as CallError;
  const [call = '', program] = syscall.split(' ');
  const place = port === undefined ? address : `${address}, port ${port}`;
  const what = [CALLS[call] ?? call, path ?? program ?? place ?? hostname].filter((one) => one).join(' ');
  const target = dest === undefined ? '' : ` to ${dest}`;
  const whyHere = call === 'spawn' && why === MEANINGS.ENOENT?.[0] ? 'there is no such program' : why;
  const remedyHere = call === 'mkdtemp' ? 'Set TMPDIR to a folder where this user can create files.' : remedy;
  return new SystemError(`cannot ${what === '' ? 'continue' : what}${target}: ${whyHere}.`, {
    remedy: remedyHere,
    cause: error,
  });
}

/** The code of an error of the system, such as `ENOENT`; `null` for any other. */
export function systemCode(error: unknown): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}

function meaningOf(error: unknown): readonly [string, string] | null {
  const { code, info } = (error ?? {}) as { code?: unknown; info?: { code?: unknown } };
  if (typeof code !== 'string') return null;
  // `os.homedir` and `os.userInfo` throw this for a user without an entry.
  if (code === 'ERR_SYSTEM_ERROR')
    return info?.code === 'ENOENT'
      ? ['the system has no entry for this user', 'Set HOME to a folder of this user.']
      : null;
  return Object.hasOwn(MEANINGS, code) ? MEANINGS[code]! : null;
}

const FOLDER_TRIES = 100;

/**
 * Creates a folder and those above it, even if another call removes some of them at the same time: Node then reports ENOENT
 * or ENOTDIR. On a read-only file system, Node reports ENOENT instead of EROFS (nodejs/node#47098); this throws the real error.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await mkdir(path, { recursive: true, ...(mode === undefined ? {} : { mode }) });
      return;
    } catch (error) {
      const mayBeRace = systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR';
      if (!mayBeRace || tries === FOLDER_TRIES) throw realCause(path, error);
    }
  }
}

/** The same, synchronously. */
export function makeFolderSync(path: string, mode?: number): void {
  try {
    mkdirSync(path, { recursive: true, ...(mode === undefined ? {} : { mode }) });
  } catch (error) {
    throw realCause(path, error);
  }
}

function realCause(path: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  try {
    accessSync(nearestFolder(path), constants.W_OK);
    return error;
  } catch (cause) {
    return cause;
  }
}
