import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Environment } from './cache.js';

/** Says why a path cannot be executed, or null when it can. */
export async function whyNotExecutable(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
      ? 'may not be executed'
      : 'there is no such file';
  }
}

/** The folders of PATH, in order; empty entries, which would mean the working folder, are left out. */
export function pathFolders(env: Environment): string[] {
  return (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The first folder that holds an executable of that name gives its path; null where none does. */
export async function findExecutable(command: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, command);
    if ((await whyNotExecutable(path)) === null) return path;
  }
  return null;
}
