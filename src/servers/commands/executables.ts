import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Environment } from '../../core/home-folder.js';

/** The reason why a path cannot be executed, or null if it can. */
export async function whyNotExecutable(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'is not executable' : 'does not exist';
  }
}

/** The folders in PATH, in order, without empty entries, which would mean the working directory. */
export function pathFolders(env: Environment): string[] {
  return (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The path of the first executable with this name in the folders, or null. */
export async function findExecutable(command: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, command);
    if ((await whyNotExecutable(path)) === null) return path;
  }
  return null;
}
