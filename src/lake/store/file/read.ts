import { type FileHandle, open } from 'node:fs/promises';
import type { ObjectKey } from '../../../core/brands.js';
import { ObjectNotFoundError } from '../errors/object-not-found-error.js';
import { checkRange } from '../key.js';
import type { ReadOptions } from '../port.js';
import { isAbsent, toFileStoreError } from './classify.js';
import type { LakeFolder } from './folder.js';

const CHUNK_BYTES = 256 * 1024;

/** Streams a file or a range of it. The open handle keeps the same version, even if the file is replaced meanwhile. */
export async function* streamFile(
  folder: LakeFolder,
  key: ObjectKey,
  options: ReadOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  const { range, signal } = options;
  if (range !== undefined) checkRange(range);
  const path = folder.pathOf(key);
  signal?.throwIfAborted();
  const handle = await openFile(folder, key, path);
  try {
    let position = range?.offset ?? 0;
    const end = range === undefined ? Number.POSITIVE_INFINITY : range.offset + range.length;
    while (position < end) {
      signal?.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - position));
      const { bytesRead } = await folder.run('read', key, () =>
        handle.read(buffer, 0, buffer.length, position),
      );
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function openFile(folder: LakeFolder, key: ObjectKey, path: string): Promise<FileHandle> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, 'r');
    // Folders can also be opened.
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (error) {
    await handle?.close().catch(() => {});
    if (!isAbsent(error)) throw toFileStoreError(error, { operation: 'read', key, folder: folder.root });
  }
  throw new ObjectNotFoundError({ operation: 'read', key, bucket: folder.root });
}
