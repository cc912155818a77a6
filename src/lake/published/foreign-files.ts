import { folderOf, isForeignFolder, MANIFEST, PART_FORM, treePrefix } from '../documents/lake-layout.js';
import type { Pointer } from '../documents/pointer.js';
import type { ListedObject, ListOptions, ObjectStore } from '../store/index.js';

/** For listings: unreadable folders of other programs are left out, because they hold nothing that this connector needs or removes. */
export const AMONG_OTHERS: ListOptions = { skipUnreadable: isForeignFolder };

/** The objects below a prefix. */
export interface Listing {
  readonly objects: readonly ListedObject[];
  /** Keys of the folders that this user may not read, with a slash at the end. They are not ours: see `isForeignFolder`. */
  readonly unreadable: readonly string[];
}

/** Lists objects, and the folders of other programs that it had to leave out. */
export async function listAmongOthers(store: ObjectStore, prefix: string): Promise<Listing> {
  const [objects, unreadable]: [ListedObject[], string[]] = [[], []];
  const skipUnreadable = (folder: string): boolean => {
    if (!isForeignFolder(folder)) return false;
    unreadable.push(folder);
    return true;
  };
  for await (const object of store.list(prefix, { skipUnreadable })) objects.push(object);
  return { objects, unreadable };
}

const BELOW_RUN = /^[^/]+\/(?:snapshots|changes)\/dt=[^/]+\/run=[^/]+\/(.+)$/;
const OURS = new RegExp(`^(${PART_FORM}|_part-.*[.]index[.]json|${MANIFEST.replace('.', '[.]')})$`);
const SHOWN = 10;

/**
 * What other programs put into the folders of the published snapshot and of the change logs, as one sentence each.
 * Views leave these files out (docs/how-to/query.md#what-the-statements-create).
 */
export async function foreignFileNotes(
  store: ObjectStore,
  { resource, snapshot }: Pick<Pointer, 'resource' | 'snapshot'>,
): Promise<string[]> {
  const prefixes = [`${folderOf(snapshot)}/`, treePrefix(resource, 'changes')];
  const found: string[] = [];
  for (const prefix of prefixes) {
    const { objects, unreadable } = await listAmongOthers(store, prefix);
    const names = objects.map(({ key }) => key as string).filter((key) => isForeign(key));
    found.push(...names.map((key) => `${key} is not part of the lake. Queries leave it out`));
    found.push(...unreadable.map((key) => `${key} is not part of the lake, and cannot be read`));
  }
  const more = found.length - SHOWN;
  return more > 0 ? [...found.slice(0, SHOWN), `${more} more files are not part of the lake`] : found;
}

function isForeign(key: string): boolean {
  const name = BELOW_RUN.exec(key)?.[1];
  return name !== undefined && !OURS.test(name);
}
