import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ObjectKey } from '../../../core/brands.js';
import { ALL_REMOVED, addRemovals } from '../../../core/removal.js';
import { checkWritten, sizeLimitOf } from '../../size-limits.js';
import { DocumentTooLargeError } from '../../too-large-error.js';
import { RunningDigest } from '../digest.js';
import { nullIfNotFound, ObjectNotFoundError, StoreError } from '../errors.js';
import { checkFolder, checkPrefix, checkRange } from '../key.js';
import { joined, type ObjectStore, type ReadOptions } from '../port.js';
import {
  deniedFolder,
  entriesOf,
  foldersOf,
  ignoreAbsent,
  isAbsent,
  isDenied,
  isTemporaryName,
  LakeFolder,
  refuseLinks,
  syncFolder,
  temporaryName,
  walk,
} from './lake-folder.js';
import { etagOf, FileWriter, swapFile } from './write.js';

/** The most cached digests. A worker runs for months and reads new keys every night. */
const MAX_DIGESTS = 10_000;

/**
 * A lake in a local folder. Network file systems are not supported, and content types are not stored. The first write
 * creates the folder.
 *
 * @param mode permissions of the folder, if this creates it
 */
export function fileStore(root: string, mode?: number): ObjectStore {
  const folder = new LakeFolder(root, mode);
  /** Digests of files by path, valid while inode, size and modification time are unchanged. */
  const digests = new Map<string, { stamp: string; crc32: string; sha256: string }>();
  const digestOf = async (key: ObjectKey, path: string, stamp: string) => {
    const known = digests.get(path);
    if (known?.stamp === stamp) return known;
    const digest = new RunningDigest();
    for await (const chunk of streamFile(folder, key)) digest.update(chunk);
    const found = { stamp, ...digest.finish(key) };
    if (digests.size >= MAX_DIGESTS) digests.clear();
    digests.set(path, found);
    return found;
  };
  return {
    url: pathToFileURL(root).href,
    read: (key, options) => joined(streamFile(folder, key, { ...options, isHeld: true })),
    async readIfExists(key, { signal } = {}) {
      const body = await joined(streamFile(folder, key, { signal, isHeld: true })).catch(nullIfNotFound);
      return body && { body, etag: etagOf(body) };
    },
    stream: (key, options) => streamFile(folder, key, options),
    async write(key, body, options) {
      checkWritten(key, body);
      const writer = new FileWriter(folder, key, options);
      for (const piece of body instanceof Uint8Array ? [body] : body) await writer.write(piece);
      return writer.finish();
    },
    openWriter: (key, options) => new FileWriter(folder, key, options),
    async swap(key, body, expected) {
      checkWritten(key, body);
      return swapFile(folder, key, body, expected);
    },
    async head(key) {
      const path = folder.pathOf(key);
      return folder.run('head', key, async () => {
        const handle = await folder.open(path, constants.O_RDONLY).catch(ignoreAbsent);
        const info = await handle?.stat({ bigint: true }).finally(() => handle.close());
        if (!info?.isFile()) return null;
        const stamp = `${info.ino} ${info.size} ${info.mtimeNs}`;
        const digest = await digestOf(key, path, stamp).catch(nullIfNotFound);
        if (digest === null) return null;
        const { crc32, sha256: etag } = digest;
        return { key, bytes: Number(info.size), etag, crc32, modifiedAt: Number(info.mtimeMs) };
      });
    },
    async *list(prefix, options) {
      try {
        yield* walk(root, checkPrefix(prefix), options);
      } catch (error) {
        throw folder.error('list', deniedFolder(root, error), error);
      }
    },
    async listFolders(prefix, options) {
      try {
        return await foldersOf(root, checkFolder(prefix), options);
      } catch (error) {
        throw folder.error('list', deniedFolder(root, error), error);
      }
    },
    copy: (from, to) => copyWithin(folder, from, to),
    async remove(keys) {
      // All keys are checked before the first file is removed.
      const paths = keys.map((key) => ({ key, path: folder.pathOf(key) }));
      let refused = ALL_REMOVED;
      for (const { key, path } of paths) {
        digests.delete(path);
        await folder
          .run('remove', key, () => removeFile(folder, key, path))
          .catch((error: unknown) => {
            if (!(error instanceof StoreError) || error.kind !== 'access-denied') throw error;
            refused = addRemovals(refused, { refused: 1, said: error.said });
          });
      }
      return refused;
    },
    async abortUploads(prefix, isAbandoned = () => true) {
      checkFolder(prefix);
      let refused: string | null = null;
      const onDenied = (error: unknown): void => {
        refused ??= folder.error('abortUploads', deniedFolder(root, error), error).said;
      };
      const remove = async (): Promise<number> => {
        await refuseLinks(folder.root, prefix);
        return removeUnfinished(folder, prefix, { isAbandoned, onDenied });
      };
      const aborted = await folder.run('abortUploads', null, remove);
      return { aborted, refused };
    },
    /** A file has no uploads. */
    async probeUploads() {},
    serverTime: () => null,
    close: () => digests.clear(),
  };
}

async function copyWithin(folder: LakeFolder, from: ObjectKey, to: ObjectKey): Promise<void> {
  const source = folder.pathOf(from);
  const target = folder.pathOf(to);
  const temporary = join(dirname(target), temporaryName());
  await folder.run('copy', from, async () => {
    const read = await openFile(folder, from, source);
    try {
      await refuseLinks(folder.root, to);
      // Through the descriptor, where the system has a path for it: the name may be a link by now.
      const opened = `/proc/self/fd/${read.fd}`;
      const readable = (await lstat(opened).catch(() => null)) === null ? source : opened;
      await folder.withFolder(temporary, () => copyFile(readable, temporary, constants.COPYFILE_EXCL));
      const handle = await folder.open(temporary, constants.O_RDWR);
      await handle.sync().finally(() => handle.close());
      await rename(temporary, target);
      await syncFolder(dirname(target));
    } finally {
      await read.close();
      await rm(temporary, { force: true });
    }
  });
}

async function removeFile(folder: LakeFolder, key: ObjectKey, path: string): Promise<void> {
  await refuseLinks(folder.root, key);
  // A key whose parent is a file, or that is itself a folder, is not an object either.
  const info = await lstat(path).catch(ignoreAbsent);
  if (!info?.isFile()) return;
  await rm(path, { force: true });
  await folder.prune(path);
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Streams a file or a range of it. The open handle keeps the same version, even if the file is replaced meanwhile.
 *
 * @param isHeld whether the caller holds all of it in memory, so that its size has a limit
 */
async function* streamFile(
  folder: LakeFolder,
  key: ObjectKey,
  { range, signal, isHeld = false }: ReadOptions & { readonly isHeld?: boolean } = {},
): AsyncGenerator<Buffer, void, undefined> {
  if (range !== undefined) checkRange(range);
  const path = folder.pathOf(key);
  signal?.throwIfAborted();
  const handle = await openFile(folder, key, path);
  try {
    const start = range?.offset ?? 0;
    let position = start;
    const end = range === undefined ? Number.POSITIVE_INFINITY : range.offset + range.length;
    const limit = sizeLimitOf(key);
    const check = (bytes: number): void => {
      if (isHeld && bytes > limit.maxBytes) throw new DocumentTooLargeError('read', { key, ...limit, bytes });
    };
    check(Math.min((await handle.stat()).size, end) - start);
    while (position < end) {
      signal?.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - position));
      const { bytesRead } = await folder.run('read', key, () =>
        handle.read(buffer, 0, buffer.length, position),
      );
      if (bytesRead === 0) return;
      position += bytesRead;
      // The file may grow meanwhile.
      check(position - start);
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function openFile(folder: LakeFolder, key: ObjectKey, path: string): Promise<FileHandle> {
  let handle: FileHandle | null = null;
  try {
    handle = await folder.open(path, constants.O_RDONLY);
    // Folders can also be opened.
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (error) {
    await handle?.close().catch(() => {});
    if (!isAbsent(error)) throw folder.error('read', key, error);
  }
  throw new ObjectNotFoundError({ operation: 'read', key, bucket: folder.root });
}

interface Unfinished {
  readonly isAbandoned: (key: ObjectKey, startedAt: number) => boolean | Promise<boolean>;
  /** Called for a folder or file that this user may not list or remove. */
  readonly onDenied: (error: unknown) => void;
}

/** Removes temporary files below a folder (`''` or ending in `/`) that `isAbandoned` accepts. Returns their number. */
async function removeUnfinished(folder: LakeFolder, below: string, how: Unfinished): Promise<number> {
  const ifDenied = <T>(value: T) => {
    return (error: unknown): T => {
      if (!isDenied(error)) throw error;
      how.onDenied(error);
      return value;
    };
  };
  let removed = 0;
  for (const entry of await entriesOf(join(folder.root, below)).catch(ifDenied([]))) {
    if (entry.isFolder) removed += await removeUnfinished(folder, below + entry.name, how);
    else if (!entry.isLink && isTemporaryName(entry.name)) {
      const path = join(folder.root, below, entry.name);
      // The writer may remove it meanwhile.
      const info = await lstat(path).catch(() => null);
      if (info === null || !(await how.isAbandoned((below + entry.name) as ObjectKey, info.mtimeMs)))
        continue;
      if (!(await rm(path, { force: true }).then(() => true, ifDenied(false)))) continue;
      await folder.prune(path);
      removed += 1;
    }
  }
  return removed;
}
