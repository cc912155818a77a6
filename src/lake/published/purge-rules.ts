import { randomBytes } from 'node:crypto';
import { type ByteString, type RunId, toByteString } from '../../core/brands.js';
import { parseRunDate } from '../../core/run-id.js';
import { parseStored } from '../../core/stored-json.js';
import { encodeReplacement } from '../documents/checksums.js';
import type { ManifestJson } from '../documents/document-schemas.js';
import { nameOf } from '../documents/lake-layout.js';
import { type Manifest, type PublishedPart, rowsOf } from '../documents/manifest.js';
import { columnName } from '../rows/data-columns.js';
import { cellRule, type ReadyProfile } from '../rows/profile.js';
import { type SortKey, sortKey } from '../rows/row.js';

/**
 * The sort key of a record in a tree: its key as the service writes it, after the masking and escaping rules of the
 * profile that the tree was written with.
 *
 * @param values key values, in the order of the key fields
 */
export function storedKey(profile: ReadyProfile, values: readonly string[]): SortKey {
  const cells = profile.key.map((field, at): ByteString => {
    const value = toByteString(values[at] ?? '');
    const rule = cellRule(profile, columnName(field));
    return rule === null ? value : ((rule(value) ?? '') as ByteString);
  });
  return sortKey(cells);
}

/** Parts whose key range contains a key; at most one in a tree without overlaps. */
export function partsContaining(manifest: Pick<Manifest, 'parts'>, key: SortKey): PublishedPart[] {
  return manifest.parts.filter(
    ({ first, last }) => first !== null && last !== null && first <= key && key <= last,
  );
}

export interface PurgedPart {
  readonly before: PublishedPart;
  /** `null` if no row is left and other parts remain. */
  readonly after: PublishedPart | null;
  /** Run id of the purge. */
  readonly by: RunId;
}

/**
 * Replaces or removes parts in a manifest and records each purge. Other fields keep their values.
 *
 * @param tree for `snapshots`, `counts.rows` is also updated
 */
export function replaceParts(
  body: Buffer,
  replaced: readonly PurgedPart[],
  tree: 'snapshots' | 'changes',
): Buffer {
  const manifest = parseStored(body) as ManifestJson;
  const { resources, worktrack } = manifest;
  for (const { before, after, by } of replaced) {
    const at = worktrack.parts.findIndex(({ path }) => path === nameOf(before.key));
    if (after === null) {
      resources.splice(at, 1);
      worktrack.parts.splice(at, 1);
    } else {
      const { key, ...part } = after;
      const path = nameOf(key);
      const name = path.replace(/\.csv(\.gz)?$/, '');
      const fields = { name, path, bytes: part.bytes, hash: `sha256:${part.sha256}`, rowCount: part.rows };
      resources[at] = { ...resources[at]!, ...fields };
      worktrack.parts[at] = { path, ...part };
    }
    worktrack.purged = [...(worktrack.purged ?? []), { runId: by, rows: before.rows - (after?.rows ?? 0) }];
  }
  if (tree === 'snapshots') worktrack.counts.rows = rowsOf(worktrack.parts);
  return encodeReplacement(body, manifest);
}

/** Sets `counts.rows` of a manifest to the current number of rows. The other counts describe the run and are kept. */
export function recountRows(body: Buffer, rows: number): Buffer {
  const manifest = parseStored(body) as ManifestJson;
  manifest.worktrack.counts.rows = rows;
  return encodeReplacement(body, manifest);
}

/** Total number of rows that purges removed from a tree. */
export function purgedRows({ purged }: Pick<Manifest, 'purged'>): number {
  return rowsOf(purged ?? []);
}

/**
 * A token that is unique to one attempt of a purge: eight hexadecimal digits for the second when the purge began,
 * then eight random ones. Parts of runs have a token of eight digits.
 */
export function purgeToken(by: RunId): string {
  return secondOf(by) + randomBytes(4).toString('hex');
}

/** Whether a purge that began after the run or purge `than` wrote an object. @param name of a part or its index */
export function isOfLaterPurge(name: string, than: RunId): boolean {
  const second = /^_?part-\d+-([0-9a-f]{8})[0-9a-f]{8}\b/.exec(name)?.[1];
  return second !== undefined && second > secondOf(than);
}

function secondOf(run: RunId): string {
  return (parseRunDate(run) / 1000).toString(16).padStart(8, '0');
}
