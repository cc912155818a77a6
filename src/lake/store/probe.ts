import { randomBytes } from 'node:crypto';
import { StoreError } from './errors/store-error.js';
import { toObjectKey } from './key.js';
import type { ConditionalWrites, ObjectStore } from './port.js';

/** What the keys of probe objects begin with. */
export const PROBES = '_staging/_probe-';

/**
 * Tries what publishing relies on (DESIGN 2) with an object of its own below `_staging/`: a second
 * `If-None-Match: *` and an `If-Match` of another version must be turned down, the right `If-Match` accepted.
 * The object is removed in any case. Errors that say nothing about conditions are thrown.
 */
export async function probeConditionalWrites(
  store: Pick<ObjectStore, 'swap' | 'remove'>,
): Promise<ConditionalWrites> {
  const key = toObjectKey(`${PROBES}${randomBytes(8).toString('hex')}`);
  const body = (text: string) => Buffer.from(JSON.stringify({ probe: text }));
  try {
    const first = await store.swap(key, body('first'), 'absent');
    if (first.outcome === 'conflict') return 'refused';
    if ((await store.swap(key, body('second'), 'absent')).outcome === 'written') return 'ignored';
    const next = await store.swap(key, body('third'), { etag: first.etag });
    if (next.outcome === 'conflict') return 'refused';
    // The first version's ETag is out of date now.
    const late = await store.swap(key, body('fourth'), { etag: first.etag });
    return late.outcome === 'written' ? 'ignored' : 'supported';
  } catch (error) {
    if (error instanceof StoreError && isNotImplemented(error.cause)) return 'refused';
    throw error;
  } finally {
    await store.remove([key]).catch(() => {});
  }
}

function isNotImplemented(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && 'status' in cause && cause.status === 501;
}
