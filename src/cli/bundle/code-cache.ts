import {
  accessSync,
  constants,
  mkdirSync,
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

/** What V8 made of the source of a file. */
export interface CodeCache {
  /** @returns undefined if there is none for this source, this Node and its options */
  read(file: string, source: Buffer): Buffer | undefined;
  /** @param make returns the code; not called if the folder cannot be written to */
  write(file: string, source: Buffer, make: () => Buffer): void;
}

/**
 * Code caches in a folder. Only entries of this user are read, because they are run as code. Node 22 has
 * `module.enableCompileCache` for this; Node 20 has nothing.
 *
 * It never throws: without a cache, a command only starts later.
 */
export function codeCache(folder: string): CodeCache {
  return {
    read(file, source) {
      const entry = path.join(folder, entryName(file, source));
      try {
        if (statSync(entry).uid !== process.getuid?.()) return undefined;
        const bytes = readFileSync(entry);
        const data = bytes.subarray(CRC_BYTES);
        return bytes.readUInt32BE(0) === crc32(data) ? data : undefined;
      } catch {
        return undefined;
      }
    },
    write(file, source, make) {
      const entry = path.join(folder, entryName(file, source));
      // Another process may write the same entry.
      const part = `${entry}.${process.pid}`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        accessSync(folder, constants.W_OK);
        const data = make();
        const head = Buffer.alloc(CRC_BYTES);
        head.writeUInt32BE(crc32(data));
        writeFileSync(part, Buffer.concat([head, data]), { mode: 0o600 });
        renameSync(part, entry);
        removeOld(folder, Date.now() - MAX_AGE_MS);
      } catch {
        removeQuietly(part);
      }
    },
  };
}

/** V8 itself compares only the length of a source. */
function entryName(file: string, source: Buffer): string {
  return [path.basename(file), crc32(source), source.length, cachedDataVersionTag()].join('-');
}

function removeOld(folder: string, before: number): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (statSync(file).mtimeMs < before) removeQuietly(file);
  }
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A folder that cannot be written to.
  }
}
