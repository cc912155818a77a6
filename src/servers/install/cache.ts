import { existsSync, lstatSync, mkdirSync, type Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '../../core/errors.js';
import { belowHome, type Environment, isWritable, namedCache } from '../../core/home-folder.js';
import type { ServerSpec } from './server-spec.js';

/**
 * The folder of installed servers: the one in the variables (`namedCache`), or a folder of this user in the temporary
 * folder.
 *
 * @throws ConfigurationError if the temporary folder has such a folder of another user
 */
export function cacheRoot(env: Environment): string {
  return namedCache(env) ?? temporaryFolder('WORKTRACK_CACHE');
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
