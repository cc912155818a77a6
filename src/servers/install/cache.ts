import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type { ServerSpec } from './kinds.js';

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of installed servers: `WORKTRACK_CACHE`, else `$XDG_CACHE_HOME/temporal-worktrack`, else
 * `~/.cache/temporal-worktrack`. Without HOME, a folder of this user in the temporary folder. An empty variable counts as
 * unset.
 */
export function cacheRoot(env: Environment): string {
  if (env.WORKTRACK_CACHE) return resolve(env.WORKTRACK_CACHE);
  if (env.XDG_CACHE_HOME) return resolve(env.XDG_CACHE_HOME, 'temporal-worktrack');
  if (env.HOME) return resolve(env.HOME, '.cache', 'temporal-worktrack');
  return join(tmpdir(), `temporal-worktrack-${userInfo().uid}`);
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
export async function usableHome(env: Environment): Promise<string | null> {
  if (!env.HOME) return null;
  try {
    await access(env.HOME, constants.W_OK);
    return env.HOME;
  } catch {
    return null;
  }
}
