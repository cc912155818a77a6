import { randomBytes } from 'node:crypto';
import { StoreError } from './errors/store-error.js';
import { toObjectKey } from './key.js';
import type { ConditionalWrites, ObjectStore } from './port.js';

/** Prefix of the keys of probe objects. */
export const PROBES = '_staging/_probe-';

/**
 * Tests the conditional writes that publishing needs (docs/explanation/architecture.md#atomic-publishing), with a probe
 * object below `_staging/`. The store must reject a second `If-None-Match: *` and an outdated `If-Match`, and accept a
 * current `If-Match`. The object is always removed. Errors that do not concern conditions are thrown.
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
    // The first version's ETag is outdated now.
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
