import { accessSync, constants, existsSync, lstatSync, mkdirSync, type Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, parse, resolve } from 'node:path';
import { ConfigurationError } from '../../core/configuration-error.js';
import { nearestFolder } from '../../core/system-error.js';
import type { ServerSpec } from './kinds.js';

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of installed servers: `WORKTRACK_CACHE`, else `$XDG_CACHE_HOME/temporal-worktrack`, else
 * `~/.cache/temporal-worktrack`. If HOME is unset or `/`, or if nothing can be created there, a folder of this user in the
 * temporary folder. An empty variable counts as unset.
 *
 * @throws ConfigurationError if the temporary folder has such a folder of another user
 */
export function cacheRoot(env: Environment): string {
  if (env.WORKTRACK_CACHE) return resolve(env.WORKTRACK_CACHE);
  if (env.XDG_CACHE_HOME) return resolve(env.XDG_CACHE_HOME, 'temporal-worktrack');
  const own = belowHome(env, join('.cache', 'temporal-worktrack'));
  return own ?? temporaryFolder('WORKTRACK_CACHE');
}

/** A folder below HOME, or null if it cannot be used: HOME is unset, empty or `/`, or nothing can be created there. */
export function belowHome({ HOME: home }: Environment, folder: string): string | null {
  if (!home || !isAbsolute(home) || resolve(home) === parse(home).root) return null;
  const path = join(home, folder);
  // One that exists can hold servers, even if no others can be installed.
  return existsSync(path) || isWritable(nearestFolder(path)) ? path : null;
}

/**
 * The folder of this user in the temporary folder. Its name can be guessed, and it holds programs, so that of another user
 * is rejected.
 *
 * @param variable to set instead
 * @throws ConfigurationError
 */
export function temporaryFolder(variable: string): string {
  const uid = process.getuid?.() ?? 0;
  const path = join(tmpdir(), `temporal-worktrack-${uid}`);
  let found: Stats;
  try {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    found = lstatSync(path);
  } catch {
    // Its first use says why it cannot be created.
    return path;
  }
  const isOwn = found.isDirectory() && (process.getuid === undefined || found.uid === uid);
  const isClosed = process.getuid === undefined || (found.mode & 0o022) === 0;
  if (isOwn && isClosed) return path;
  const why = isOwn ? 'can be changed by other users' : 'belongs to another user';
  throw new ConfigurationError(`the temporary folder ${path} ${why}`, {
    remedy: `Set ${variable} to a folder of this user.`,
  });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The folder of one server in the cache. Its name contains the version and the machine type, so that releases do not mix
 * and different machines can share a home folder.
 */
export function versionFolder(spec: ServerSpec, platform = process.platform, arch = process.arch): string {
  return `${spec.command}-${spec.version}-${platform}-${arch}`;
}

/** The path of an installed server's executable. */
export function cachedExecutable(root: string, spec: ServerSpec): string {
  return join(root, versionFolder(spec), spec.command);
}

/**
 * The home folder for the files of tools, or null if HOME is unset, empty or not writable. In that case, tools use the
 * cache folder.
 */
export function usableHome(env: Environment): string | null {
  const { HOME: home } = env;
  return home && belowHome(env, '.') !== null && isWritable(home) ? home : null;
}
