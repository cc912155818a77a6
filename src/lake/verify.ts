import type { ObjectKey, RunId } from '../core/brands.js';
import { pointerKey } from './layout.js';
import type { ObjectStore } from './store/index.js';
import { type CheckedManifest, checkManifest, checkPointer } from './verify/documents.js';
import { checkSums } from './verify/sums.js';
import { verifyTree } from './verify/tree.js';

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Parts that are read at the same time; each needs a few MiB. Default: 2. */
  readonly partsAtOnce?: number | undefined;
  /** Called for every part that has been read, with its size in bytes. */
  readonly onPart?: ((bytes: number) => void) | undefined;
}

/** What a resource's published snapshot is worth. */
export interface VerifyReport {
  readonly resource: string;
  /** `null` where no pointer could be read. */
  readonly runId: RunId | null;
  readonly ok: boolean;
  /** Of the snapshot, as the manifest lists them. */
  readonly parts: number;
  /** Of the snapshot, counted; tombstones too. */
  readonly rows: number;
  /** Of the snapshot's parts as they lie in the store, counted. */
  readonly bytes: number;
  /** Each names the object's key. */
  readonly problems: readonly string[];
}

/**
 * Reads everything that `latest.json` publishes, the change log of its run too, and checks it against itself:
 * hashes, checksums, counts, headers, keys, block indexes (DESIGN 3.11). Changes nothing.
 *
 * @throws StoreError when the store cannot be read: that is no finding about the snapshot
 */
export async function verifySnapshot(
  store: ObjectStore,
  resource: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const at = pointerKey(resource);
  const nothing = { resource, runId: null, ok: false, parts: 0, rows: 0, bytes: 0 };
  const found = await store.readIfExists(at);
  if (found === null) return { ...nothing, problems: [`${at} is not there: nothing is published`] };
  const checked = checkPointer(found.body, resource, at);
  if (!('value' in checked)) return { ...nothing, problems: checked.problems };

  const pointer = checked.value;
  const { runId } = pointer;
  const problems: string[] = [];
  const manifestAt = async (
    key: ObjectKey,
    tree: 'snapshot' | 'changes',
  ): Promise<CheckedManifest | null> => {
    const object = await store.readIfExists(key);
    if (object === null) {
      problems.push(`${key} is not there, and ${at} names it`);
      return null;
    }
    const manifest = checkManifest(object.body, key, { resource, tree, runId });
    problems.push(...manifest.problems);
    return 'value' in manifest ? manifest.value : null;
  };
  const snapshot = await manifestAt(pointer.snapshot, 'snapshot');
  const changes = pointer.changes === null ? null : await manifestAt(pointer.changes, 'changes');
  if (snapshot !== null) problems.push(...checkSums({ pointerKey: at, pointer, snapshot, changes }));

  const partsAtOnce = options.partsAtOnce ?? 2;
  const rules = { ...options, partsAtOnce };
  const none = { rows: 0, bytes: 0, problems: [] };
  const read = snapshot === null ? none : await verifyTree(store, snapshot, { ...rules, index: 'beside' });
  const log = changes === null ? none : await verifyTree(store, changes, { ...rules, index: 'none' });
  problems.push(...read.problems, ...log.problems);
  const { rows, bytes } = read;
  return {
    resource,
    runId,
    ok: problems.length === 0,
    parts: snapshot?.parts.length ?? 0,
    rows,
    bytes,
    problems,
  };
}
