import type { ObjectKey, RunId, UtcSeconds } from '../core/brands.js';

/** `latest.json`: which snapshot a reader should take (DESIGN 6). */
export interface Pointer {
  readonly resource: string;
  readonly runId: RunId;
  /** Key of the snapshot's `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly changes: ObjectKey | null;
  readonly publishedAt: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  /** Tombstones too. */
  readonly rows: number;
  readonly connection: string;
  readonly baseUrl: string;
  /** After a rollback: the newest run that was left behind. The next run takes its columns over. */
  readonly rolledBackFrom?: LeftBehind;
}

export interface LeftBehind {
  readonly runId: RunId;
  /** Key of its change log's `_datapackage.json`: change logs are never removed, snapshots are. */
  readonly changes: ObjectKey;
}

export function encodePointer(pointer: Pointer): Buffer {
  return Buffer.from(`${JSON.stringify(pointer, null, 2)}\n`);
}

/** @throws SyntaxError when the object is no pointer */
export function decodePointer(body: Buffer): Pointer {
  const found = JSON.parse(body.toString('utf8')) as Partial<Pointer> | null;
  const complete =
    typeof found?.runId === 'string' &&
    typeof found.snapshot === 'string' &&
    typeof found.checkpoint?.updatedSince === 'string';
  if (!complete) throw new SyntaxError('latest.json is not the pointer that a run of this connector writes');
  return found as Pointer;
}
