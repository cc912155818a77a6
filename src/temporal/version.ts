import { readFileSync } from 'node:fs';

/** Folder of the package: the nearest above this file that has a `package.json`, be it run from source or built. */
export const PACKAGE_ROOT: URL = (() => {
  for (const up of ['../../', '../../../']) {
    const folder = new URL(up, import.meta.url);
    try {
      readFileSync(new URL('package.json', folder));
      return folder;
    } catch {
      // One level higher, then.
    }
  }
  throw new Error('temporal-worktrack is installed without its package.json; install it anew');
})();

export const VERSION: string = (
  JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }
).version;
