import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../../src/core/file-lock.js';
import type { Environment } from '../../src/core/home-folder.js';
import { cacheRoot } from '../../src/servers/install/cache.js';

export interface FolderToFill {
  /** Name of the folder in the cache. It contains the version of what it holds. */
  readonly name: string;
  readonly env?: Environment;
  readonly signal: AbortSignal;
}

/**
 * Finds a folder in the cache, or fills it. Of several processes, one fills it and the others wait.
 *
 * @param fill gets an empty folder, which is renamed at the end, so that an unfinished one is never used
 * @returns the path of the folder
 */
export async function cachedFolder(
  { name, env = process.env, signal }: FolderToFill,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheRoot(env), name);
  await withFileLock(`${folder}.lock`, { signal }, async () => {
    if ((await stat(folder).catch(() => null)) !== null) return;
    process.stderr.write(`${name}: installing\n`);
    const unfinished = `${folder}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    await fill(unfinished);
    await rename(unfinished, folder);
  });
  return folder;
}
