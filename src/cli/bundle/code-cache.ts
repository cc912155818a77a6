import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { crc32 } from 'node:zlib';

/** Entries are deleted after this time, because nothing else deletes those of other versions. Those in use come back. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;
/** An entry begins with the CRC-32 of the rest. */
const CRC_BYTES = 4;
const ENTRY = /\.code$/;
const GROUP_OR_OTHERS_WRITE = 0o022;

/** What V8 made of the source of a file. */
export interface CodeCache {
  /** @returns undefined if there is none for this source, this Node and its options */
  read(file: string, source: Buffer): Buffer | undefined;
  /** @param make returns the code; not called if the folder cannot be written to */
  write(file: string, source: Buffer, make: () => Buffer): void;
}

/**
 * Code caches in a folder. Only files of this user are read, because they are run as code. Node 22 has
 * `module.enableCompileCache` for this; Node 20 has nothing.
 *
 * It never throws: without a cache, a command only starts later.
 *
 * @param root the folder of all caches; `null`: none
 */
export function codeCache(root: string | null): CodeCache {
  if (root === null) return { read: () => undefined, write: () => {} };
  const folder = path.join(root, 'compiled-commands');
  return {
    read(file, source) {
      try {
        const bytes = readOwn(path.join(folder, entryName(file, source)));
        const data = bytes?.subarray(CRC_BYTES);
        return data !== undefined && bytes?.readUInt32BE(0) === crc32(data) ? data : undefined;
      } catch {
        return undefined;
      }
    },
    write(file, source, make) {
      const entry = path.join(folder, entryName(file, source));
      // Another process may write the same entry.
      const part = `${entry}.${process.pid}-${Math.random()}.code`;
      try {
        if (!mayWrite(root)) return;
        mkdirSync(root, { recursive: true });
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(part, '', { mode: 0o600, flag: 'wx' });
        const data = make();
        const head = Buffer.alloc(CRC_BYTES);
        head.writeUInt32BE(crc32(data));
        writeFileSync(part, Buffer.concat([head, data]));
        renameSync(part, entry);
        removeOld(folder, Date.now() - MAX_AGE_MS);
      } catch {
        removeQuietly(part);
      }
    },
  };
}

/** V8 itself compares only the length of a source. Its code contains the path of the file. */
function entryName(file: string, source: Buffer): string {
  const of = [process.version, process.arch, cachedDataVersionTag(), source.length];
  return `${path.basename(file)}-${of.join('-')}-${crc32(source, crc32(file))}.code`;
}

function readOwn(file: string): Buffer | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { uid, mode } = fstatSync(descriptor);
    const own = process.getuid?.();
    // Windows has no user ids.
    const isOwn = own === undefined || (uid === own && (mode & GROUP_OR_OTHERS_WRITE) === 0);
    return isOwn ? readFileSync(descriptor) : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Root makes no folders in the home of a user, who could not write to them later. */
function mayWrite(root: string): boolean {
  if (process.getuid?.() !== 0) return true;
  let nearest = root;
  while (!existsSync(nearest)) nearest = path.dirname(nearest);
  return statSync(nearest).uid === 0;
}

function removeOld(folder: string, before: number): void {
  for (const name of readdirSync(folder).filter((one) => ENTRY.test(one))) {
    const file = path.join(folder, name);
    try {
      if (lstatSync(file).mtimeMs < before) rmSync(file, { force: true });
    } catch {
      // Another process has deleted it.
    }
  }
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A folder that cannot be written to.
  }
}
