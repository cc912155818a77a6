import type { ObjectKey } from '../../core/brands.js';
import { isUnread, type ObjectStore, StoreError } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';

interface FoundBody {
  readonly body: Buffer;
  /** The error if the store's own checksum does not match; `null` for none. */
  readonly damaged: string | null;
  /** Whether the store refused to return the object, so that nothing is known about it. `damaged` then says why. */
  readonly isUnread: boolean;
}

/** More than the limit of any document, so that the store stops at the limit. */
const ALL_BYTES = 2 ** 40;

/** Whether the store is unavailable. Such an error says nothing about the object. */
export function isOutage(error: StoreError): boolean {
  return error.retryable && error.kind !== 'checksum';
}

/** Reads a document, even if the store reports it as damaged; `null` if it does not exist. @throws StoreError if the store is unavailable */
export async function readEvenIfDamaged(store: ObjectStore, key: ObjectKey): Promise<FoundBody | null> {
  try {
    const found = await store.readIfExists(key);
    return found === null ? null : { body: found.body, damaged: null, isUnread: false };
  } catch (error) {
    const nothing = { body: Buffer.alloc(0), isUnread: isUnread(error) };
    if (error instanceof DocumentTooLargeError) return { ...nothing, damaged: error.message };
    if (!(error instanceof StoreError) || isOutage(error)) throw error;
    const damaged = error.message;
    if (error.kind !== 'damaged' && error.kind !== 'checksum') return { ...nothing, damaged };
    // Ranges are read without a check of the whole object, so the damaged content can be examined.
    const first = await store.read(key, { range: { offset: 0, length: 1 } });
    const rest = await store.read(key, { range: { offset: 1, length: ALL_BYTES } });
    return { body: Buffer.concat([first, rest]), damaged, isUnread: false };
  }
}
