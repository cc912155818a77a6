import type { ObjectKey, RunId } from '../core/brands.js';
import { pointerKey } from './layout.js';
import { decodePointer, encodePointer, type Pointer } from './pointer.js';
import {
  type Expected,
  type ObjectStore,
  StoreError,
  StoreUnclearError,
  type SwapResult,
} from './store/index.js';

export type Swapped =
  | { readonly outcome: 'published' }
  /** Somebody else's run is there now. */
  | { readonly outcome: 'lost'; readonly to: RunId };

/** Tries at an unclear or spurious answer; what is there is read before each and after the last. */
const TRIES = 5;

/**
 * Makes `latest.json` name a new snapshot: the one step by which a run is published (DESIGN 2). Whatever the store
 * answers, the pointer is read again: our run id means success, the version that we expect means another try, and
 * anything else that the swap is lost.
 *
 * @param expected the pointer's version when the run began
 */
export async function swapPointer(
  store: ObjectStore,
  pointer: Pointer,
  expected: Expected,
): Promise<Swapped> {
  const key = pointerKey(pointer.resource);
  let unclear: unknown = null;
  for (let tries = 0; ; tries++) {
    const found = await store.readIfExists(key);
    const there = found === null ? null : decodePointer(found.body);
    if (there?.runId === pointer.runId) return { outcome: 'published' };
    const version: Expected = found === null ? 'absent' : { etag: found.etag };
    if (!sameVersion(version, expected)) return { outcome: 'lost', to: there?.runId ?? ('nothing' as RunId) };
    if (tries === TRIES) throw unclear ?? conditionRefused(store, key);
    try {
      const result: SwapResult = await store.swap(key, encodePointer(pointer), expected);
      if (result.outcome === 'written') return { outcome: 'published' };
    } catch (error) {
      if (!(error instanceof StoreUnclearError)) throw error;
      unclear = error;
    }
  }
}

function conditionRefused(store: ObjectStore, key: ObjectKey): StoreError {
  return new StoreError({
    kind: 'other',
    operation: 'swap',
    key,
    bucket: store.url,
    problem: 'the store refuses the condition although it holds',
    remedy: 'Check with `worktrack doctor` that the store supports conditional writes.',
  });
}

function sameVersion(a: Expected, b: Expected): boolean {
  return a === 'absent' || b === 'absent' ? a === b : a.etag === b.etag;
}

/** What an object should be. */
export interface Promised {
  readonly key: ObjectKey;
  readonly bytes: number;
  readonly crc32: string;
}

/** Holds an object in the store against what was sent; returns what is wrong with it, or `null`. */
export async function checkObject(
  store: ObjectStore,
  { key, bytes, crc32 }: Promised,
): Promise<string | null> {
  const found = await store.head(key);
  if (found === null) return `${key} is not there`;
  if (found.bytes !== bytes) return `${key} has ${found.bytes} bytes and not ${bytes}`;
  if (found.crc32 !== null && found.crc32 !== crc32)
    return `${key} has the CRC32 ${found.crc32} and not ${crc32}`;
  return null;
}
