import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent } from './classify.js';
import type { LakeFolder } from './folder.js';
import { isTemporaryName } from './names.js';
import { entriesOf } from './walk.js';

/** Removes temporary files below a folder (`''` or ending in `/`) untouched for `olderThanMs`; returns their number. */
export async function removeUnfinished(
  folder: LakeFolder,
  below: string,
  olderThanMs: number,
): Promise<number> {
  const before = Date.now() - olderThanMs;
  let removed = 0;
  for (const entry of await entriesOf(join(folder.root, below))) {
    if (entry.isFolder) removed += await removeUnfinished(folder, below + entry.name, olderThanMs);
    else if (isTemporaryName(entry.name)) {
      const path = join(folder.root, below, entry.name);
      if (!(await isOlder(path, before))) continue;
      await rm(path, { force: true });
      await folder.prune(path);
      removed += 1;
    }
  }
  return removed;
}

async function isOlder(path: string, before: number): Promise<boolean> {
  try {
    return Math.floor((await stat(path)).mtimeMs) <= before;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}
