import { readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder, systemCause } from '../../core/system-error.js';
import { UsageError } from '../shared/usage-error.js';

/** Marks a folder that the demo created and may remove. */
const MARKER = '.worktrack-demo';

/**
 * Creates an empty folder for the demo. Removes the folder of an earlier demo; leaves any other folder alone.
 *
 * @throws UsageError if the folder is not empty and is not from an earlier demo
 */
export async function createDemoFolder(path: string): Promise<string> {
  const folder = resolve(path);
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new UsageError(`cannot use --dir ${path}: ${systemCause(error)}`);
  });
  if (entries.length > 0) {
    if (!entries.includes(MARKER)) {
      throw new UsageError(
        `${folder} is not empty and is not from an earlier demo. Choose another folder with --dir.`,
      );
    }
    await rm(folder, { recursive: true, force: true });
  }
  try {
    await makeFolder(folder);
    await writeFile(
      join(folder, MARKER),
      'Created by `worktrack demo`, which removes this folder when it runs again.\n',
    );
  } catch (error) {
    throw new UsageError(`cannot create ${folder}: ${systemCause(error)}. Choose another folder with --dir.`);
  }
  return folder;
}
