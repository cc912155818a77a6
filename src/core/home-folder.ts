import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, isAbsolute, join, parse, resolve } from 'node:path';

// Every command loads this file before anything else, so it imports nothing of ours.

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of caches, from the variables: `WORKTRACK_CACHE`, or `$XDG_CACHE_HOME/temporal-worktrack`, or
 * `~/.cache/temporal-worktrack`. An empty variable counts as unset.
 *
 * @returns `null` if none of them can be used: HOME is unset or `/`, or nothing can be created there
 */
export function namedCache(env: Environment): string | null {
  if (env.WORKTRACK_CACHE) return resolve(env.WORKTRACK_CACHE);
  if (env.XDG_CACHE_HOME) return resolve(env.XDG_CACHE_HOME, 'temporal-worktrack');
  return belowHome(env, join('.cache', 'temporal-worktrack'));
}

/** A folder below HOME, or null if it cannot be used: HOME is unset, empty or `/`, or nothing can be created there. */
export function belowHome({ HOME: home }: Environment, folder: string): string | null {
  if (!home || !isAbsolute(home) || resolve(home) === parse(home).root) return null;
  const path = join(home, folder);
  // One that exists can hold servers, even if no others can be installed.
  return existsSync(path) || isWritable(nearestFolder(path)) ? path : null;
}

/** The path itself, or the nearest folder above it that exists. */
export function nearestFolder(path: string): string {
  let nearest = resolve(path);
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  return nearest;
}

/** Whether this user may create files in a folder that exists. */
export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
