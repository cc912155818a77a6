import type { EpochMs, ObjectKey, RunId } from '../../core/brands.js';
import { WorktrackError } from '../../core/errors.js';
import { indexKey } from './block-index.js';

/** The layout of a lake (docs/reference/lake.md). Keys are relative to the lake's root. */

const key = (text: string): ObjectKey => text as ObjectKey;

export const MANIFEST = '_datapackage.json';

/** How many previous runs a manifest lists, so that walking the chain does not take a request for each run. */
export const PREVIOUS_RUNS = 100;

/** The two published trees of a resource: the state after each run, and the changes of each run. */
export type Tree = 'snapshots' | 'changes';

/** UTC date of a run's nominal start, `2026-11-21`. */
export function dateOf(nominalStart: EpochMs): string {
  return new Date(nominalStart).toISOString().slice(0, 10);
}

/** Folder of a run's parts, without a trailing slash. */
export function runFolder(resource: string, tree: Tree, date: string, runId: RunId): ObjectKey {
  return key(`${resource}/${tree}/dt=${date}/run=${runId}`);
}

/** Key of a run's manifest in a tree. */
export function manifestKey(resource: string, tree: Tree, date: string, runId: RunId): ObjectKey {
  return inFolder(runFolder(resource, tree, date, runId), MANIFEST);
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

/**
 * A regular expression for the names of parts, which all query engines understand. A purge gives its parts a token of 16 digits.
 * Copies that other programs make, such as those of synchronizers after a conflict, have other names.
 */
export const PART_FORM = 'part-[0-9]{5}-([0-9a-f]{8}){1,2}[.]csv([.]gz)?';

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

/** The objects of a resource's Delta table (PROTOCOL.md, "File Types"). */
export function tableKeys(resource: string) {
  const prefix = `${resource}/table/`;
  const log = `${prefix}_delta_log/`;
  const numbered = (version: number, type: string) =>
    key(`${log}${String(version).padStart(20, '0')}.${type}`);
  return {
    /** Of all objects. */
    prefix,
    /** Of the objects of the log. */
    log,
    commit: (version: number) => numbered(version, 'json'),
    checkpoint: (version: number) => numbered(version, 'checkpoint.parquet'),
    lastCheckpoint: key(`${log}_last_checkpoint`),
    data: (path: string) => key(`${prefix}${path}`),
  };
}

export function stagingPrefix(resource: string): string {
  return `_staging/${resource}/`;
}

/** Folder of a run's unpublished objects, without a trailing slash. */
export function stagingFolder(resource: string, runId: RunId): ObjectKey {
  return key(`_staging/${resource}/${runId}`);
}

export function quarantinePrefix(resource: string): string {
  return `_quarantine/${resource}/`;
}

/**
 * Key of a file of quarantined records: they have no key, share it with others, or only say that they are deleted
 * (docs/explanation/guarantees.md#key).
 */
export function quarantineKey(resource: string, runId: RunId, name: string): ObjectKey {
  return key(`${quarantinePrefix(resource)}${runId}/${name}.csv`);
}

const RUN = '\\d{8}T\\d{6}Z-[0-9a-f]{8}';
/** Folders below which this connector knows all folders that it makes: those of resources, and of their staging and quarantine. */
const KNOWN_BELOW = /^(?:[^/_][^/]*|_(?:staging|quarantine)\/[^/]+)\/./;
/** The staging folder of a dry run has its trees and its quarantine. */
const OURS = new RegExp(
  `^(?:[^/]+/(?:(?:snapshots|changes)/(?:dt=\\d{4}-\\d\\d-\\d\\d/(?:run=${RUN}/)?)?|table/(?:_delta_log/)?)|` +
    `_quarantine/[^/]+/${RUN}/|_staging/([^/]+)/${RUN}/(?:(?:\\1|_quarantine)/.*)?)$`,
);

/**
 * Whether a folder is certainly of another program, such as `@eaDir/` of a network drive: this connector makes none of this name
 * there. Use it for `skipUnreadable`, so that one that this user may not read does not end a listing.
 *
 * @param folder its key with a slash at the end
 */
export function isForeignFolder(folder: string): boolean {
  return KNOWN_BELOW.test(folder) && !OURS.test(folder);
}

/** Keys of a part and its block index. */
export function indexedObjects(part: ObjectKey): ObjectKey[] {
  return [part, indexKey(part)];
}

/** Version of the lake's layout, recorded in every manifest and pointer. */
export const LAYOUT_VERSION = 2;

/** The lake has a layout that this version neither reads nor writes. Nothing in the lake has been changed. */
export class LakeLayoutError extends WorktrackError {
  readonly code = 'LAKE_LAYOUT';
}

/**
 * Checks the layout version of a document.
 *
 * @param at the document, as shown to a person
 * @param layout its field `layout`; pointers of layout 1 have none
 * @throws LakeLayoutError
 */
export function checkLayout(at: ObjectKey | string, layout: unknown): void {
  if (layout === LAYOUT_VERSION) return;
  const isLater = typeof layout === 'number' && layout > LAYOUT_VERSION;
  const found = typeof layout === 'number' ? `layout ${layout}` : 'an earlier layout';
  throw new LakeLayoutError(
    `${at} has ${found} of the lake, and this version of worktrack reads layout ${LAYOUT_VERSION}. Nothing was changed.`,
    {
      remedy: isLater
        ? 'Upgrade worktrack.'
        : 'Use the version that wrote the lake, or set a new `lake.url` to start with an empty lake (docs/how-to/upgrade.md).',
    },
  );
}
