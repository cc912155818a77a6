import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type { ServerSpec } from './kinds.js';

/** The part of the environment that decides where things are; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder that holds what was installed: `WORKTRACK_CACHE`, else `$XDG_CACHE_HOME/temporal-worktrack`, else
 * `~/.cache/temporal-worktrack`. Without a HOME it is a folder of this user's in the temporary folder. An empty
 * variable counts as unset.
 */
export function cacheRoot(env: Environment): string {
  if (env.WORKTRACK_CACHE) return resolve(env.WORKTRACK_CACHE);
  if (env.XDG_CACHE_HOME) return resolve(env.XDG_CACHE_HOME, 'temporal-worktrack');
  if (env.HOME) return resolve(env.HOME, '.cache', 'temporal-worktrack');
  return join(tmpdir(), `temporal-worktrack-${userInfo().uid}`);
}

/**
 * The folder of one server within the cache. It carries version and machine, so that a newer release never meets an
 * older one's files and a home shared between machines stays usable.
 */
export function versionFolder(spec: ServerSpec, platform = process.platform, arch = process.arch): string {
  return `${spec.command}-${spec.version}-${platform}-${arch}`;
}

/** Where a server's executable lies once installed. */
export function cachedExecutable(root: string, spec: ServerSpec): string {
  return join(root, versionFolder(spec), spec.command);
}

/**
 * The home folder that tools may fill, or null where HOME is unset, empty or not writable: they are then pointed
 * into our cache.
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
