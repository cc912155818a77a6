import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import type { LakeFolder } from './folder.js';
import { isTemporaryName } from './names.js';
import { entriesOf } from './walk.js';

/** Removes temporary files below a folder (`''` or ending in `/`) that `isAbandoned` accepts. Returns their number. */
export async function removeUnfinished(
  folder: LakeFolder,
  below: string,
  isAbandoned: (key: ObjectKey, startedAt: number) => boolean,
): Promise<number> {
  let removed = 0;
  for (const entry of await entriesOf(join(folder.root, below))) {
    if (entry.isFolder) removed += await removeUnfinished(folder, below + entry.name, isAbandoned);
    else if (!entry.isLink && isTemporaryName(entry.name)) {
      const path = join(folder.root, below, entry.name);
      // The writer may remove it meanwhile.
      const info = await stat(path).catch(() => null);
      if (info === null || !isAbandoned((below + entry.name) as ObjectKey, info.mtimeMs)) continue;
      await rm(path, { force: true });
      await folder.prune(path);
      removed += 1;
    }
  }
  return removed;
}
