import { shownBatchId, type WritableResource } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ObjectStore } from '../lake/store/index.js';
import { BATCHES_PREFIX, batchKeys } from './batch-layout.js';
import type { BatchFile } from './plan-file.js';
import { decodeSealed } from './sealed.js';
import { SYSTEM_REMEDY, type TargetSystem } from './system.js';

/** Reads `batch.json` and its ETag; `null` if the batch has not started. @throws DamagedError, StoreError */
export async function readBatch(
  store: ObjectStore,
  batchId: string,
): Promise<{ file: BatchFile; etag: string } | null> {
  const found = await store.readIfExists(batchKeys(batchId).batch);
  if (found === null) return null;
  return { file: decodeSealed<BatchFile>(batchKeys(batchId).batch, found.body), etag: found.etag };
}

/**
 * A batch keeps the name of the connection that it began with, because the idempotency keys of its rows depend on it. A
 * connection that was renamed since then, which the same system shows, continues it.
 *
 * @throws InputError if the batch with this id was started with other settings
 */
export function checkBatch(
  batchId: string,
  started: BatchFile,
  requested: Pick<BatchFile, 'connection' | 'resource' | 'kind' | 'keyColumn'>,
  system: TargetSystem,
): void {
  const mismatch = (what: string, was: string, is: string): InputError =>
    new InputError(
      `batch ${shownBatchId(batchId)} was started with ${what} ${was}, but now has ${is}: rows would get other keys and be written twice`,
      { remedy: 'Use the original value, or set another --batch-id.' },
    );
  const isElsewhere = system.alsoAt(started.sameAs).placeOf(started.baseUrl) === 'open';
  if (started.connection !== requested.connection && isElsewhere)
    throw mismatch('connection', started.connection, requested.connection);
  if (started.resource !== requested.resource)
    throw mismatch('resource', started.resource, requested.resource);
  if (started.kind !== requested.kind)
    throw mismatch('input format', FORMAT_NAMES[started.kind], FORMAT_NAMES[requested.kind]);
  if (started.keyColumn !== requested.keyColumn)
    throw mismatch('key column', started.keyColumn ?? 'none', requested.keyColumn ?? 'none');
  if (isElsewhere)
    throw new InputError(
      `batch ${shownBatchId(batchId)} has sent rows to ${started.baseUrl}, and baseUrl is now ${system.baseUrl}. Nothing was sent`,
      { remedy: SYSTEM_REMEDY },
    );
}

const FORMAT_NAMES: Readonly<Record<BatchFile['kind'], string>> = { csv: 'CSV', json: 'JSON' };

/** Columns that are always text, whatever their type in the published snapshot. */
export function textColumns(resource: WritableResource): readonly string[] {
  return resource === 'calendar-entries' ? ['source', 'sourceKey'] : [];
}

/** Fewer digits would often name several batches. */
const MIN_DIGITS = 4;

/**
 * The batch with an id, or the only one whose id begins with a text of at least four characters.
 *
 * @throws InputError if there is none, or more than one
 */
export async function findBatch(store: ObjectStore, text: string): Promise<string> {
  const ids = await batchIds(store);
  if (ids.includes(text)) return text;
  const found = text.length < MIN_DIGITS ? [] : ids.filter((id) => id.startsWith(text));
  const [only, ...others] = found;
  if (only === undefined)
    throw new InputError(`there is no batch ${JSON.stringify(text)} in ${store.url}`, {
      remedy: `Give the id that write-back printed, or its first digits (at least ${MIN_DIGITS}).`,
    });
  if (others.length === 0) return only;
  throw new InputError(
    `${found.length} batches begin with ${JSON.stringify(text)}: ${found.slice(0, 5).map(shownBatchId).join(', ')}`,
    { remedy: 'Give more digits.' },
  );
}

/**
 * The batch that a given id continues: a printed part of the id of an existing batch means that batch. Any other text is the
 * id itself.
 */
export async function continuedBatch(store: ObjectStore, text: string): Promise<string> {
  if (!/^[0-9a-f]{12,63}$/.test(text)) return text;
  const found = (await batchIds(store)).filter((id) => id.startsWith(text));
  if (found.includes(text) || found.length === 0) return text;
  return findBatch(store, text);
}

/** A folder that is not a batch begins with an underscore. */
async function batchIds(store: ObjectStore): Promise<string[]> {
  return (await store.listFolders(BATCHES_PREFIX)).filter((name) => !name.startsWith('_'));
}
