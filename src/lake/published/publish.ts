import type { ObjectKey, RunId } from '../../core/brands.js';
import {
  type Expected,
  type ObjectStore,
  StoreError,
  StoreUnclearError,
  type SwapResult,
} from '../store/index.js';
import { pointerKey } from './layout.js';
import { decodePointer, encodePointer, type Pointer } from './pointer.js';

type Swapped =
  | { readonly outcome: 'published' }
  /** The pointer names another run. */
  | { readonly outcome: 'lost'; readonly to: RunId };

/** The most swaps after unclear or spurious answers. The pointer is read after each of them. */
const TRIES = 5;

/**
 * Makes `latest.json` name a new snapshot. This single write publishes a run
 * (docs/explanation/how-it-works.md#atomic-publishing). After any other answer than success, the pointer is read again:
 * our run id means success, the expected version means another try, and anything else means that the swap is lost.
 *
 * @param expected version of the pointer when the run began
 */
export async function swapPointer(
  store: ObjectStore,
  pointer: Pointer,
  expected: Expected,
): Promise<Swapped> {
  const key = pointerKey(pointer.resource);
  let unclear: unknown = null;
  for (let tries = 1; ; tries++) {
    try {
      const result: SwapResult = await store.swap(key, encodePointer(pointer), expected);
      if (result.outcome === 'written') return { outcome: 'published' };
    } catch (error) {
      if (!(error instanceof StoreUnclearError)) throw error;
      unclear = error;
    }
    const found = await store.readIfExists(key);
    const there = found === null ? null : decodePointer(found.body);
    if (there?.runId === pointer.runId) return { outcome: 'published' };
    const version: Expected = found === null ? 'absent' : { etag: found.etag };
    if (!sameVersion(version, expected)) return { outcome: 'lost', to: there?.runId ?? ('nothing' as RunId) };
    if (tries === TRIES) throw unclear ?? conditionRefused(store, key);
  }
}

function conditionRefused(store: ObjectStore, key: ObjectKey): StoreError {
  return new StoreError({
    kind: 'other',
    operation: 'swap',
    key,
    bucket: store.url,
    problem: 'the store rejects the condition although it is met',
    remedy: 'Check that the store supports conditional writes: worktrack doctor',
  });
}

function sameVersion(a: Expected, b: Expected): boolean {
  return a === 'absent' || b === 'absent' ? a === b : a.etag === b.etag;
}

/** The expected size and checksum of an object. */
interface ExpectedObject {
  readonly key: ObjectKey;
  readonly bytes: number;
  readonly crc32: string;
}

/** Compares an object in the store with what was sent. Returns the problem, or `null`. */
export async function checkObject(
  store: ObjectStore,
  { key, bytes, crc32 }: ExpectedObject,
): Promise<string | null> {
  const found = await store.head(key);
  if (found === null) return `${key} is missing`;
  if (found.bytes !== bytes) return `${key} has ${found.bytes} bytes instead of ${bytes}`;
  if (found.crc32 !== null && found.crc32 !== crc32)
    return `${key} has CRC32 ${found.crc32} instead of ${crc32}`;
  return null;
}
