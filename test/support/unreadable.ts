import { chmod, chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** No user has it. */
const OTHER_USER = 54321;

/**
 * Makes folders that this process may not read, as those of a network drive can be, and does something next to them. Root reads every
 * folder, so a process of root acts as another user meanwhile, who owns all else below the root.
 *
 * @param folders relative to the root; made if they are not there
 */
export async function withUnreadable<T>(
  root: string,
  folders: readonly string[],
  act: () => Promise<T>,
): Promise<T> {
  const paths = folders.map((folder) => join(root, folder));
  for (const path of paths) await mkdir(path, { recursive: true });
  const isRoot = process.getuid!() === 0;
  if (isRoot) {
    const all = (await readdir(root, { recursive: true })).map((name) => join(root, name));
    for (const path of [root, ...all]) await chown(path, OTHER_USER, OTHER_USER);
  }
  for (const path of paths) {
    await chmod(path, isRoot ? 0o700 : 0);
    if (isRoot) await chown(path, 0, 0);
  }
  if (isRoot) process.seteuid!(OTHER_USER);
  try {
    return await act();
  } finally {
    if (isRoot) process.seteuid!(0);
    for (const path of paths) await chmod(path, 0o700);
  }
}
