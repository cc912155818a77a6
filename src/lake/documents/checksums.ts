import { hash } from 'node:crypto';
import type { ObjectKey } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import { DamagedError, damagedObject } from '../damaged-error.js';
import type { ObjectStore } from '../store/index.js';

/**
 * Checksums of the published documents (docs/reference/lake.md#latestjson). A manifest and `latest.json` each contain a
 * SHA-256 of their own content, and `latest.json` contains the SHA-256 of its two manifests.
 */

/** SHA-256 of the manifests in a pointer, 64 lower-case hex digits each. */
export interface ManifestChecksums {
  readonly snapshot: string;
  readonly changes: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** 64 lower-case hex digits. */
export function sha256Of(body: Uint8Array | string): string {
  return hash('sha256', body);
}

/** Adds the field `checksum`, the SHA-256 of all other fields, at the end. */
export function withChecksum<T extends object>(fields: T): T & { readonly checksum: string } {
  return { ...fields, checksum: sha256Of(JSON.stringify(fields)) };
}

type ChecksumState = 'intact' | 'broken' | 'none';

/** Whether a document's fields match its checksum; `none` for a document without one. */
export function checksumState(fields: object): ChecksumState {
  const { checksum, ...rest } = fields as Fields;
  return stateOf(checksum, rest);
}

function stateOf(checksum: unknown, content: object): ChecksumState {
  if (checksum === undefined) return 'none';
  return checksum === sha256Of(JSON.stringify(content)) ? 'intact' : 'broken';
}

/** The most replaced versions that a manifest lists. A purge can write several versions. */
const REPLACED_KEPT = 1000;

interface ChecksummedManifest {
  readonly worktrack: { readonly replaces?: readonly string[]; readonly checksum?: string };
}

/** Encodes a manifest with its checksum. @param manifest the whole `_datapackage.json` */
export function encodeWithChecksum(manifest: { readonly worktrack: object }): Buffer {
  // The checksum covers the whole document except itself.
  const { checksum: _, ...worktrack } = manifest.worktrack as Fields;
  const content = { ...manifest, worktrack };
  const sealed = { ...content, worktrack: { ...worktrack, checksum: sha256Of(JSON.stringify(content)) } };
  return Buffer.from(`${JSON.stringify(sealed, null, 1)}\n`);
}

/** As `checksumState`, for a parsed `_datapackage.json`. */
export function manifestChecksumState(manifest: { readonly worktrack: object }): ChecksumState {
  const { checksum, ...worktrack } = manifest.worktrack as Fields;
  return stateOf(checksum, { ...manifest, worktrack });
}

/**
 * Encodes a manifest that replaces another version, for example in a purge. It lists the SHA-256 of the version that it
 * replaces. Until `latest.json` is updated, it still contains that SHA-256, and `matchesNamedChecksum` accepts it.
 */
export function encodeReplacement(before: Buffer, manifest: { readonly worktrack: object }): Buffer {
  const worktrack = manifest.worktrack as ChecksummedManifest['worktrack'];
  const replaces = [...(worktrack.replaces ?? []), sha256Of(before)].slice(-REPLACED_KEPT);
  return encodeWithChecksum({ ...manifest, worktrack: { ...worktrack, replaces } });
}

/**
 * Whether a manifest has the SHA-256 in the pointer, or is an intact replacement of that version. Damaged and
 * older versions are rejected.
 */
export function matchesNamedChecksum(sha256: string, body: Buffer): boolean {
  if (sha256Of(body) === sha256) return true;
  try {
    const manifest = parseStored(body) as ChecksummedManifest;
    return (
      manifestChecksumState(manifest) === 'intact' && (manifest.worktrack.replaces ?? []).includes(sha256)
    );
  } catch {
    return false;
  }
}

/** @throws DamagedError if the manifest at `key` does not match the SHA-256 in `latest.json` */
export function checkNamedChecksum(key: ObjectKey, body: Buffer, sha256: string | null | undefined): void {
  if (typeof sha256 !== 'string' || matchesNamedChecksum(sha256, body)) return;
  throw damagedObject(key, 'its SHA-256 does not match the one in latest.json');
}

/**
 * Computes the current checksums of two manifests, for a new version of the pointer after a rollback or a purge.
 *
 * @throws DamagedError if one of them is missing
 */
export async function manifestChecksums(
  store: ObjectStore,
  { snapshot, changes }: { readonly snapshot: ObjectKey; readonly changes: ObjectKey | null },
): Promise<ManifestChecksums> {
  const of = async (key: ObjectKey): Promise<string> => {
    const found = await store.readIfExists(key);
    if (found === null) throw new DamagedError(`${key} is missing`);
    return sha256Of(found.body);
  };
  return { snapshot: await of(snapshot), changes: changes === null ? null : await of(changes) };
}
