import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError } from '../usage-error.js';

/** Says that a folder was made by the demo and may be removed by the next one. */
const MARKER = '.worktrack-demo';

/**
 * An empty folder for a demo. One that an earlier demo left is removed; anything else is left alone.
 *
 * @throws UsageError when there is something in the folder that no demo put there
 */
export async function freshFolder(asked: string): Promise<string> {
  const folder = resolve(asked);
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new UsageError(`--dir ${asked} cannot be used: ${error.message}`);
  });
  if (entries.length > 0) {
    if (!entries.includes(MARKER)) {
      throw new UsageError(`${folder} is not empty, and no demo made it. Give another folder: --dir FOLDER`);
    }
    await rm(folder, { recursive: true, force: true });
  }
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, MARKER),
    'Made by `worktrack demo`, which removes this folder when it runs again.\n',
  );
  return folder;
}
