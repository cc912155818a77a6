import { shownBatchId, type WritableResource } from '../core/contract/write-back.js';
import type { ObjectStore } from '../lake/store/index.js';
import { InputError } from './input-error.js';
import { batchKey } from './layout.js';
import type { BatchFile } from './plan-file.js';
import { decodeSealed } from './sealed.js';

/** Reads `batch.json` and its ETag; `null` if the batch has not started. @throws DamagedError, StoreError */
export async function readBatch(
  store: ObjectStore,
  batchId: string,
): Promise<{ file: BatchFile; etag: string } | null> {
  const found = await store.readIfExists(batchKey(batchId));
  if (found === null) return null;
  return { file: decodeSealed<BatchFile>(batchKey(batchId), found.body), etag: found.etag };
}

/**
 * A batch keeps the name of the connection that it began with, because the idempotency keys of its rows depend on it. A
 * connection that was renamed since then, which the same service shows, continues it.
 *
 * @throws InputError if the batch with this id was started with other settings
 */
export function checkBatch(
  batchId: string,
  started: BatchFile,
  requested: Pick<BatchFile, 'connection' | 'baseUrl' | 'resource' | 'kind' | 'keyColumn'>,
): void {
  const mismatch = (what: string, was: string, is: string): InputError =>
    new InputError(
      `batch ${shownBatchId(batchId)} was started with ${what} ${was}, but now has ${is}: rows would get other keys and be written twice`,
      null,
      'Use the original value, or set another --batch-id.',
    );
  if (started.connection !== requested.connection && started.baseUrl !== requested.baseUrl)
    throw mismatch('connection', started.connection, requested.connection);
  if (started.resource !== requested.resource)
    throw mismatch('resource', started.resource, requested.resource);
  if (started.kind !== requested.kind)
    throw mismatch('input format', FORMAT_NAMES[started.kind], FORMAT_NAMES[requested.kind]);
  if (started.keyColumn !== requested.keyColumn)
    throw mismatch('key column', started.keyColumn ?? 'none', requested.keyColumn ?? 'none');
}

const FORMAT_NAMES: Readonly<Record<BatchFile['kind'], string>> = { csv: 'CSV', json: 'JSON' };

/** Columns that are always text, whatever their type in the published snapshot. */
export function textColumns(resource: WritableResource): readonly string[] {
  return resource === 'calendar-entries' ? ['source', 'sourceKey'] : [];
}
