import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { StoreUnclearError } from '../errors/store-unclear-error.js';
import type { Expected, SwapResult } from '../port.js';
import { isAbsent } from './classify.js';
import { type LakeFolder, syncFolder } from './folder.js';
import { withLock } from './lock.js';
import { temporaryName } from './names.js';

/** The ETag of a file: the SHA-256 of its content, so equal content has the same ETag. */
export function etagOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Compares and replaces a file under a lock that all worktrack processes on this machine use. */
export async function swapFile(
  folder: LakeFolder,
  key: ObjectKey,
  body: Uint8Array,
  expected: Expected,
): Promise<SwapResult> {
  const path = folder.pathOf(key);
  return folder.run('swap', key, () =>
    withLock(folder, path, async (stillHeld) => {
      if ((await currentEtag(path)) !== (expected === 'absent' ? null : expected.etag))
        return { outcome: 'conflict' };
      const temporary = join(dirname(path), temporaryName());
      try {
        await writeSynced(temporary, body);
        if (!stillHeld()) throw lockLost(folder, key);
        await rename(temporary, path);
      } finally {
        await rm(temporary, { force: true });
      }
      await syncFolder(dirname(path));
      return { outcome: 'written', etag: etagOf(body) };
    }),
  );
}

async function currentEtag(path: string): Promise<string | null> {
  try {
    return etagOf(await readFile(path));
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

async function writeSynced(path: string, body: Uint8Array): Promise<void> {
  const handle = await open(path, 'wx');
  try {
    await writeFile(handle, body);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function lockLost(folder: LakeFolder, key: ObjectKey): StoreUnclearError {
  return new StoreUnclearError({
    operation: 'swap',
    key,
    bucket: folder.root,
    problem: 'this process was paused for so long that another one took its lock',
  });
}
