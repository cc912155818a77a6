import { readFileSync } from 'node:fs';

/** Folder of the package: the nearest parent with a `package.json`. Its depth differs between source and build. */
export const PACKAGE_ROOT: URL = (() => {
  for (const up of ['../../', '../../../']) {
    const folder = new URL(up, import.meta.url);
    try {
      readFileSync(new URL('package.json', folder));
      return folder;
    } catch {
      // Try the next level.
    }
  }
  throw new Error('temporal-worktrack is installed without its package.json. Install it again');
})();

export const VERSION: string = (
  JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }
).version;
