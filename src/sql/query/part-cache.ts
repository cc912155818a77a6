import { createHash, randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import {
  copyFile,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  utimes,
} from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../../core/duration.js';
import { ConfigurationError } from '../../core/errors.js';
import { DamagedError } from '../../lake/damaged-error.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { ObjectStore } from '../../lake/store/index.js';

/** Most bytes of the parts that are kept for later queries. */
export const MAX_CACHED_BYTES = 2 * 1024 ** 3;

const SESSION = 'session-';
const PART = /^[0-9a-f]{64}\.csv(\.gz)?$/;
const FETCHES_AT_ONCE = 4;

/** A part, and the name of the file that a query reads it from. */
export interface WantedPart {
  readonly part: PublishedPart;
  readonly name: string;
}

/**
 * Parts of published runs on this machine, by their SHA-256. A query gets a private folder with links to its parts, so that
 * it reads nothing else, and a part that is removed from the cache meanwhile stays readable.
 */
export class PartCache {
  readonly folder: string;
  readonly #maxBytes: number;

  /** @param folder of the cache, which only this user can read; created if it is missing */
  constructor(folder: string, maxBytes: number = MAX_CACHED_BYTES) {
    this.folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** A private folder for one query. Folders that killed queries have left are removed. */
  async openSession(): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.folder)) {
      if (!name.startsWith(SESSION) && !name.endsWith('.tmp')) continue;
      const path = join(this.folder, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true });
    }
    return mkdtemp(join(this.folder, SESSION));
  }

  /** The parts that have to be fetched. */
  async missing(wanted: readonly WantedPart[]): Promise<WantedPart[]> {
    const found: WantedPart[] = [];
    for (const one of wanted) {
      const size = await sizeOf(this.#pathOf(one.part));
      if (size !== one.part.bytes) found.push(one);
    }
    return found;
  }

  /**
   * Puts parts into a session's folder. Every part is verified against its manifest, also one that was cached.
   *
   * @returns paths, in the order of `wanted`
   * @throws DamagedError if a part is not the one of its manifest; StoreError; ConfigurationError if there is no space
   */
  async provide(
    store: ObjectStore,
    session: string,
    { wanted, missing }: { readonly wanted: readonly WantedPart[]; readonly missing: readonly WantedPart[] },
  ): Promise<string[]> {
    await this.#checkSpace(missing.reduce((sum, { part }) => sum + part.bytes, 0));
    const queue = [...missing];
    const fetchNext = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop())
        await this.#fetch(store, next.part);
    };
    await Promise.all(Array.from({ length: FETCHES_AT_ONCE }, fetchNext));
    const paths: string[] = [];
    for (const { part, name } of wanted) {
      const path = join(session, name);
      await this.#link(store, part, path);
      paths.push(path);
    }
    return paths;
  }

  /** Removes the parts that were used least recently, until the rest is within the limit. */
  async prune(): Promise<void> {
    const parts = [];
    for (const name of (await readdir(this.folder)).filter((one) => PART.test(one))) {
      const path = join(this.folder, name);
      const found = await stat(path).catch(() => null);
      if (found !== null) parts.push({ path, bytes: found.size, usedAt: found.mtimeMs });
    }
    let bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    for (const part of parts.sort((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= this.#maxBytes) return;
      await rm(part.path, { force: true });
      bytes -= part.bytes;
    }
  }

  async #checkSpace(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    if (bytes <= bavail * bsize) return;
    throw new ConfigurationError(
      `the query needs ${bytes} bytes in ${this.folder}, which has ${bavail * bsize} bytes free.`,
      { remedy: 'Free some space, or set WORKTRACK_CACHE to a folder on a larger disk.' },
    );
  }

  #pathOf({ key, sha256 }: PublishedPart): string {
    return join(this.folder, `${sha256}${key.endsWith('.gz') ? '.csv.gz' : '.csv'}`);
  }

  async #link(store: ObjectStore, part: PublishedPart, to: string): Promise<void> {
    const cached = this.#pathOf(part);
    if ((await hashOf(cached)) !== part.sha256) {
      await rm(cached, { force: true });
      await this.#fetch(store, part);
    }
    const now = new Date();
    await utimes(cached, now, now);
    // Some file systems have no hard links.
    await link(cached, to).catch(() => copyFile(cached, to, constants.COPYFILE_FICLONE));
  }

  async #fetch(store: ObjectStore, part: PublishedPart): Promise<void> {
    const temporary = join(this.folder, `${randomUUID()}.tmp`);
    const file = await open(temporary, 'wx', 0o600);
    try {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of store.stream(part.key)) {
        hash.update(chunk);
        bytes += chunk.length;
        if (bytes > part.bytes) break;
        await file.write(chunk);
      }
      if (bytes !== part.bytes || hash.digest('hex') !== part.sha256)
        throw new DamagedError(
          `${part.key} differs from the checksum in its manifest. Run worktrack verify.`,
        );
      await file.close();
      await rename(temporary, this.#pathOf(part));
    } catch (error) {
      await file.close().catch(() => {});
      await rm(temporary, { force: true });
      throw error;
    }
  }
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

async function hashOf(path: string): Promise<string | null> {
  try {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
