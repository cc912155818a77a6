import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { StoreError } from '../errors.js';
import { keyProblem } from '../key.js';
import type { ListedObject } from '../port.js';
import { isAbsent, isReservedName } from './lake-folder.js';

/** A file, a folder or a symbolic link below the lake's folder. */
interface Entry {
  /** Folder names end with a slash. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

/**
 * Lists objects whose key begins with `prefix`, in byte order of the keys, as S3 does. Files that are removed meanwhile
 * are skipped. Sockets and files whose names are not valid keys are not objects.
 *
 * @throws StoreError for a symbolic link below the prefix or in its path: the files behind it would not be listed, and
 *   clean-up and purge would not remove them
 */
export async function* walk(root: string, prefix: string): AsyncGenerator<ListedObject, void, undefined> {
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  await refuseLinks(root, folder);
  yield* below(root, prefix, folder);
}

async function* below(
  root: string,
  prefix: string,
  folder: string,
): AsyncGenerator<ListedObject, void, undefined> {
  for (const entry of await entriesOf(join(root, folder))) {
    const key = folder + entry.name;
    if (entry.isLink && key.startsWith(prefix)) throw linkFound(root, key);
    if (entry.isFolder) {
      if (key.startsWith(prefix)) yield* below(root, prefix, key);
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
  await refuseLinks(root, folder);
  for (const entry of await entriesOf(join(root, folder))) {
    if (entry.isLink) throw linkFound(root, folder + entry.name);
    if (!entry.isFolder) continue;
    const first = await below(root, folder + entry.name, folder + entry.name).next();
    if (!first.done) names.push(entry.name.slice(0, -1));
  }
  return names;
}

/** Entries of one folder. A folder sorts as `name/`, as the keys below it do. */
export async function entriesOf(path: string): Promise<Entry[]> {
  const found: Dirent[] | null = await readdir(path, { withFileTypes: true }).catch(ignoreAbsent);
  return (found ?? [])
    .filter((entry) => entry.isFile() || entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => ({
      name: entry.isDirectory() ? `${entry.name}/` : entry.name,
      isFolder: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

/** The lake's folder itself may be a link. @throws StoreError if the file or a folder in its path below the lake is a link */
export async function refuseLinks(root: string, key: string): Promise<void> {
  let at = '';
  for (const segment of key.split('/').filter((name) => name !== '')) {
    at += at === '' ? segment : `/${segment}`;
    const found = await lstat(join(root, at)).catch(ignoreAbsent);
    if (found === null) return;
    if (found.isSymbolicLink()) throw linkFound(root, at);
  }
}

function linkFound(root: string, key: string): StoreError {
  return new StoreError({
    kind: 'invalid-key',
    operation: 'list',
    key,
    bucket: root,
    problem:
      'it is a symbolic link, and files behind a link below the lake are not listed, removed or purged',
    remedy:
      'Replace the link with the folder itself, mount the folder there (`mount --bind`), or make the whole lake folder a link.',
  });
}

function ignoreAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
