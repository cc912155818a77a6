import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { keyProblem } from '../key.js';
import type { ListedObject } from '../port.js';
import { isAbsent } from './classify.js';
import { isReservedName } from './names.js';

/** A file or folder below the lake's folder. */
interface Entry {
  /** Folders with a slash at the end. */
  readonly name: string;
  readonly isFolder: boolean;
}

/**
 * Objects whose key begins with `prefix`, in the byte order of the keys as S3 lists them. Files that vanish
 * meanwhile are left out; links, sockets and names that are no keys are not objects.
 */
export async function* walk(
  root: string,
  prefix: string,
  folder = '',
): AsyncGenerator<ListedObject, void, undefined> {
  for (const entry of await entriesOf(join(root, folder))) {
    const key = folder + entry.name;
    if (entry.isFolder) {
      if (key.startsWith(prefix) || prefix.startsWith(key)) yield* walk(root, prefix, key);
      continue;
    }
    if (!key.startsWith(prefix) || isReservedName(entry.name) || keyProblem(key) !== null) continue;
    const info = await stat(join(root, key)).catch(ignoreAbsent);
    if (info !== null)
      yield { key: key as ObjectKey, bytes: info.size, modifiedAt: Math.floor(info.mtimeMs) };
  }
}

/** Names of the folders directly below `folder` that hold an object at any depth. */
export async function foldersOf(root: string, folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await entriesOf(join(root, folder))) {
    if (!entry.isFolder) continue;
    const first = await walk(root, folder + entry.name, folder + entry.name).next();
    if (!first.done) names.push(entry.name.slice(0, -1));
  }
  return names;
}

/** Entries of one folder; a folder sorts as `name/`, the way the keys below it do. */
export async function entriesOf(path: string): Promise<Entry[]> {
  const found: Dirent[] | null = await readdir(path, { withFileTypes: true }).catch(ignoreAbsent);
  return (found ?? [])
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .map((entry) => ({
      name: entry.isDirectory() ? `${entry.name}/` : entry.name,
      isFolder: entry.isDirectory(),
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

function ignoreAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
