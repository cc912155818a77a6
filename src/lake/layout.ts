import type { ObjectKey, RunId } from '../core/brands.js';
import { indexKey } from './part/index-file.js';

/** Where everything lies in a lake (DESIGN 6). Keys are relative to the lake's root. */

const key = (text: string): ObjectKey => text as ObjectKey;

export const MANIFEST = '_datapackage.json';

/** What a person may open beside the manifest; its name begins with `_`, so engines skip it. */
export const REPORT = '_report.html';

/** Which of a resource's two published trees: the state after each run, or what each run changed. */
export type Tree = 'snapshots' | 'changes';

/** UTC date of a run's nominal start, `2026-11-21`. @param nominalStart milliseconds since 1970 */
export function dateOf(nominalStart: number): string {
  return new Date(nominalStart).toISOString().slice(0, 10);
}

/** Folder of a run's parts, without a trailing slash. */
export function runFolder(resource: string, tree: Tree, date: string, runId: RunId): ObjectKey {
  return key(`${resource}/${tree}/dt=${date}/run=${runId}`);
}

/** Date of the `dt=` that an object of a run lies below. @throws RangeError for another object */
export function dateOfRun(object: ObjectKey): string {
  const date = /(?:^|\/)dt=(\d{4}-\d\d-\d\d)\/run=[^/]+\//.exec(object)?.[1];
  if (date === undefined) throw new RangeError(`${object} is in no run's folder`);
  return date;
}

export function treePrefix(resource: string, tree: Tree): string {
  return `${resource}/${tree}/`;
}

/** `part-00003-1a2b3c4d.csv.gz`: the number orders parts, the token keeps attempts apart. */
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

/** Records without their key, set aside: `badRecords: quarantine` (DESIGN 3.2). */
export function quarantineKey(resource: string, runId: RunId, name: string): ObjectKey {
  return key(`_quarantine/${resource}/${runId}/${name}.csv`);
}

/**
 * Where the change logs of runs go that were rolled back, once another run has been published: whoever reads `changes/`
 * then sees the runs on the chain and no others (DESIGN 6).
 */
export function rolledBackRoot(resource: string): string {
  return `_rolled-back/${resource}`;
}

/** A part and what belongs to it: its block index. */
export function indexedObjects(part: ObjectKey): ObjectKey[] {
  return [part, indexKey(part)];
}
