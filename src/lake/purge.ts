import type { ByteString, RunId } from '../core/brands.js';
import { toByteString } from '../core/brands.js';
import { nameOf } from './layout.js';
import type { Manifest, PublishedPart, Purge } from './manifest.js';
import { cellRule, type Profile } from './profile.js';
import { type SortKey, sortKey } from './row.js';
import { columnName } from './schema.js';

/**
 * The sort key under which a record lies in a tree: its key as the service writes it, after the rules of the profile
 * that the tree was written with (masking, escaping).
 *
 * @param values in the order of the key's fields
 */
export function storedKey(profile: Profile, values: readonly string[]): SortKey {
  const cells = profile.key.map((field, at): ByteString => {
    const value = toByteString(values[at] ?? '');
    const rule = cellRule(profile, columnName(field));
    return rule === null ? value : ((rule(value) ?? '') as ByteString);
  });
  return sortKey(cells);
}

/** Parts whose range of keys a key lies in; one at most in a tree without overlaps. */
export function partsAround(manifest: Pick<Manifest, 'parts'>, key: SortKey): PublishedPart[] {
  return manifest.parts.filter(
    ({ first, last }) => first !== null && last !== null && first <= key && key <= last,
  );
}

interface ManifestJson {
  resources: { path: string; name: string; bytes: number; hash: string; rowCount: number }[];
  worktrack: {
    parts: (Omit<PublishedPart, 'key'> & { path: string })[];
    counts: { rows: number };
    purged?: Purge[];
  };
}

export interface PurgedPart {
  readonly before: PublishedPart;
  /** `null`: no row is left, and other parts remain. */
  readonly after: PublishedPart | null;
  /** The run that purges. */
  readonly by: RunId;
}

/** A manifest with one part replaced or left out, and a note of it; the rest stays as it is. */
export function replacePart(body: Buffer, { before, after, by }: PurgedPart): Buffer {
  const manifest = decode(body);
  const { resources, worktrack } = manifest;
  const at = worktrack.parts.findIndex(({ path }) => path === nameOf(before.key));
  if (after === null) {
    resources.splice(at, 1);
    worktrack.parts.splice(at, 1);
  } else {
    const { key, ...part } = after;
    const path = nameOf(key);
    const name = path.replace(/\.csv(\.gz)?$/, '');
    const told = { name, path, bytes: part.bytes, hash: `sha256:${part.sha256}`, rowCount: part.rows };
    resources[at] = { ...resources[at]!, ...told };
    worktrack.parts[at] = { path, ...part };
  }
  worktrack.purged = [...(worktrack.purged ?? []), { runId: by, rows: before.rows - (after?.rows ?? 0) }];
  return encode(manifest);
}

/** A manifest whose counts say how many rows the run's snapshot has now; the other counts tell what the run did. */
export function recountRows(body: Buffer, rows: number): Buffer {
  const manifest = decode(body);
  manifest.worktrack.counts.rows = rows;
  return encode(manifest);
}

function decode(body: Buffer): ManifestJson {
  return JSON.parse(body.toString('utf8')) as ManifestJson;
}

function encode(manifest: ManifestJson): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
}

/** Rows that purges removed from a tree. */
export function purgedRows({ purged }: Pick<Manifest, 'purged'>): number {
  return (purged ?? []).reduce((sum, { rows }) => sum + rows, 0);
}
