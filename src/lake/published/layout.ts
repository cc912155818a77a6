import type { ObjectKey, RunId } from '../../core/brands.js';
import { indexKey } from '../part/index-file.js';

/** The layout of a lake (docs/reference/lake.md). Keys are relative to the lake's root. */

const key = (text: string): ObjectKey => text as ObjectKey;

export const MANIFEST = '_datapackage.json';

/** The two published trees of a resource: the state after each run, and the changes of each run. */
export type Tree = 'snapshots' | 'changes';

/** UTC date of a run's nominal start, `2026-11-21`. @param nominalStart milliseconds since 1970 */
export function dateOf(nominalStart: number): string {
  return new Date(nominalStart).toISOString().slice(0, 10);
}

/** Folder of a run's parts, without a trailing slash. */
export function runFolder(resource: string, tree: Tree, date: string, runId: RunId): ObjectKey {
  return key(`${resource}/${tree}/dt=${date}/run=${runId}`);
}

/** Date of the `dt=` folder that contains a run's object. @throws RangeError if the object is not in a run's folder */
export function dateOfRun(object: ObjectKey): string {
  const date = /(?:^|\/)dt=(\d{4}-\d\d-\d\d)\/run=[^/]+\//.exec(object)?.[1];
  if (date === undefined) throw new RangeError(`${object} is not in the folder of a run`);
  return date;
}

export function treePrefix(resource: string, tree: Tree): string {
  return `${resource}/${tree}/`;
}

/** Name of a part, such as `part-00003-1a2b3c4d.csv.gz`. The number orders parts; the token is unique to an attempt. */
export function partName(number: number, token: string, extension: string): string {
  return `part-${String(number).padStart(5, '0')}-${token}${extension}`;
}

export function inFolder(folder: ObjectKey, name: string): ObjectKey {
  return key(`${folder}/${name}`);
}

export function folderOf(object: ObjectKey): ObjectKey {
  return key(object.slice(0, object.lastIndexOf('/')));
}

export function nameOf(object: ObjectKey): string {
  return object.slice(object.lastIndexOf('/') + 1);
}

export function pointerKey(resource: string): ObjectKey {
  return key(`${resource}/latest.json`);
}

export function stagingPrefix(resource: string): string {
  return `_staging/${resource}/`;
}

/** Folder of a run's unpublished objects, without a trailing slash. */
export function stagingFolder(resource: string, runId: RunId): ObjectKey {
  return key(`_staging/${resource}/${runId}`);
}

/** Key of a file of quarantined records, which have no key: `badRecords: quarantine` (docs/explanation/guarantees.md#key). */
export function quarantineKey(resource: string, runId: RunId, name: string): ObjectKey {
  return key(`_quarantine/${resource}/${runId}/${name}.csv`);
}

/** Keys of a part and its block index. */
export function indexedObjects(part: ObjectKey): ObjectKey[] {
  return [part, indexKey(part)];
}
