import type { ObjectKey } from '../core/brands.js';
import { checkNamedChecksum, sha256Of } from '../lake/published/checksums.js';
import { folderOf } from '../lake/published/layout.js';
import { decodeManifest, type Manifest } from '../lake/published/manifest.js';
import type { ObjectStore } from '../lake/store/index.js';
import { PART_TAG } from './log/actions.js';
import type { TableState } from './log/table-state.js';

/** A manifest, and which version of it: a purge replaces the manifests of published runs. */
export interface PublishedSnapshot {
  readonly manifest: Manifest;
  /** SHA-256 of the manifest, 64 lower-case hex digits. */
  readonly sha256: string;
}

/**
 * Reads the manifest of a snapshot.
 *
 * @param named the SHA-256 in `latest.json`, if it has one
 * @returns `null` if there is no manifest @throws DamagedError if the manifest is damaged
 */
export async function readSnapshot(
  store: ObjectStore,
  key: ObjectKey,
  named?: string,
): Promise<PublishedSnapshot | null> {
  const found = await store.readIfExists(key);
  if (found === null) return null;
  checkNamedChecksum(key, found.body, named);
  return { manifest: decodeManifest(found.body, folderOf(key)), sha256: sha256Of(found.body) };
}

/** Whether the newest version of a table consists of exactly the parts of a snapshot. */
export function holdsParts({ files }: TableState, { parts }: Pick<Manifest, 'parts'>): boolean {
  const held = new Set([...files.values()].map(({ tags }) => tags?.[PART_TAG]));
  const wanted = parts.filter(({ rows }) => rows > 0);
  return held.size === wanted.length && wanted.every(({ sha256 }) => held.has(sha256));
}
