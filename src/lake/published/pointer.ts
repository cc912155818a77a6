import type { ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import type { ObjectStore } from '../store/index.js';
import { checksumState, type ManifestChecksums, withChecksum } from './checksums.js';
import { pointerKey } from './layout.js';

/** `latest.json`: names the current snapshot (docs/reference/lake.md). */
export interface Pointer {
  readonly resource: string;
  readonly runId: RunId;
  /** Key of the snapshot's `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly changes: ObjectKey | null;
  readonly publishedAt: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  /** Rows of the snapshot, including tombstones. */
  readonly rows: number;
  readonly connection: string;
  readonly baseUrl: string;
  /** After a rollback: the newest rolled-back run. The next run keeps its columns. */
  readonly rolledBackFrom?: RolledBackRun;
  /**
   * Run id of the rollback or purge that wrote this version. It makes the text of every version unique, so that a delayed
   * swap that expects an earlier version cannot succeed (docs/explanation/fencing.md).
   */
  readonly amendedBy?: RunId;
  /** SHA-256 of the two manifests; absent in a pointer of version 0.1. */
  readonly manifests?: ManifestChecksums;
}

export interface RolledBackRun {
  readonly runId: RunId;
  /** Key of its change log's `_datapackage.json`. Change logs are never removed; snapshots are. */
  readonly changes: ObjectKey;
}

/** Reads the pointer of a resource; `null` if nothing is published. @throws SyntaxError as `decodePointer` */
export async function readPointer(store: ObjectStore, resource: string): Promise<Pointer | null> {
  const found = await store.readIfExists(pointerKey(resource));
  return found === null ? null : { ...decodePointer(found.body), resource };
}

/** Encodes a pointer with its checksum. */
export function encodePointer(pointer: Pointer): Buffer {
  return Buffer.from(`${JSON.stringify(withChecksum(pointer), null, 2)}\n`);
}

/** @throws SyntaxError if the object is not a pointer or does not match its checksum */
export function decodePointer(body: Buffer): Pointer {
  const found = parseStored(body) as Partial<Pointer> | null;
  const complete =
    typeof found?.runId === 'string' &&
    typeof found.snapshot === 'string' &&
    typeof found.checkpoint?.updatedSince === 'string';
  if (!complete) throw new SyntaxError('latest.json is not a pointer of this connector');
  if (checksumState(found) === 'broken') {
    throw new SyntaxError(
      'latest.json is damaged: its fields do not match its checksum. Restore it from a backup or an earlier version of the object',
    );
  }
  const { checksum: _, ...pointer } = found as Pointer & { readonly checksum?: string };
  return pointer;
}
