import type { ObjectKey, RunId } from '../../core/brands.js';
import { pointerKey } from '../documents/lake-layout.js';
import { decodePointer, encodePointer, type Pointer } from '../documents/pointer.js';
import { type Expected, type ObjectStore, StoreError, StoreUnclearError } from '../store/index.js';

/** The most attempts for a document that another process also writes, or whose write gets no clear answer. */
const TRIES = 5;

export interface Version {
  readonly body: Buffer;
  readonly etag: string;
}

/**
 * Writes a document only if it is still the version that was read. A delayed request of a superseded attempt therefore
 * changes nothing (docs/internals/recovery.md#writes). For the same reason, a request without a clear answer can be repeated.
 *
 * @param expected the version that `body` is based on; `absent` for a new document
 * @returns `conflict` if the document is neither the expected version nor `body`. The write cannot take effect any more,
 *   but it may have taken effect before another process changed the document.
 */
export async function writeIfUnchanged(
  store: ObjectStore,
  key: ObjectKey,
  body: Buffer,
  expected: Expected,
): Promise<'written' | 'conflict'> {
  let unclear: unknown = null;
  for (let tries = 1; ; tries++) {
    try {
      const { outcome } = await store.swap(key, body, expected);
      if (outcome === 'written') return 'written';
    } catch (error) {
      if (!(error instanceof StoreUnclearError)) throw error;
      unclear = error;
    }
    const found = await store.readIfExists(key);
    if (found?.body.equals(body)) return 'written';
    const isExpected = expected === 'absent' ? found === null : found?.etag === expected.etag;
    if (!isExpected) return 'conflict';
    if (tries === TRIES)
      throw (
        unclear ??
        new StoreError({
          ...{ kind: 'other', operation: 'swap', key, bucket: store.url },
          problem: 'the store rejects the condition although it is met',
          remedy: 'Check that the store supports conditional writes: worktrack doctor',
        })
      );
  }
}

/**
 * Changes an existing document. If another process writes it meanwhile, the change is applied to the new version.
 *
 * @param change returns the new body for the current one; `null` for no change
 * @returns the current body; `null` if the document does not exist
 */
export async function rewrite(
  store: ObjectStore,
  key: ObjectKey,
  change: (body: Buffer) => Buffer | null,
): Promise<Buffer | null> {
  for (let tries = 1; ; tries++) {
    const found = await store.readIfExists(key);
    const body = found === null ? null : change(found.body);
    if (found === null || body === null) return found?.body ?? null;
    if ((await writeIfUnchanged(store, key, body, found)) === 'written') return body;
    if (tries === TRIES)
      throw new StoreError({
        ...{ kind: 'throttled', operation: 'swap', key, bucket: store.url },
        problem: 'another process keeps changing the object',
        remedy: 'Check that only one mirror writes this lake.',
      });
  }
}

type Swapped =
  | { readonly outcome: 'published' }
  /** The pointer names another run. */
  | { readonly outcome: 'lost'; readonly to: RunId };

/**
 * Makes `latest.json` name a new snapshot. This single write publishes a run
 * (docs/explanation/how-it-works.md#atomic-publishing). A pointer that names this run in another version, for example after a
 * purge, means that an earlier attempt has published it.
 *
 * @param expected version of the pointer when the run began
 */
export async function swapPointer(
  store: ObjectStore,
  pointer: Pointer,
  expected: Expected,
): Promise<Swapped> {
  const key = pointerKey(pointer.resource);
  if ((await writeIfUnchanged(store, key, encodePointer(pointer), expected)) === 'written')
    return { outcome: 'published' };
  const found = await store.readIfExists(key);
  const there = found === null ? null : decodePointer(found.body);
  if (there?.runId === pointer.runId) return { outcome: 'published' };
  return { outcome: 'lost', to: there?.runId ?? ('nothing' as RunId) };
}
