import type { WritableResource } from '../core/write-back-contract.js';
import type { ObjectStore } from '../lake/store/index.js';
import { InputError } from './input-error.js';
import { batchKey } from './layout.js';
import type { BatchFile } from './plan-file.js';

/** What a batch was begun with, with its version; `null` for a batch that has not begun. */
export async function readBatch(
  store: ObjectStore,
  batchId: string,
): Promise<{ file: BatchFile; etag: string } | null> {
  const found = await store.readIfExists(batchKey(batchId));
  if (found === null) return null;
  return { file: JSON.parse(found.body.toString('utf8')) as BatchFile, etag: found.etag };
}

/** @throws InputError when what is asked for is not the batch that was begun under the same id */
export function checkBatch(
  batchId: string,
  begun: BatchFile,
  asked: Pick<BatchFile, 'connection' | 'resource' | 'kind' | 'keyColumn'>,
): void {
  const differs = (what: string, was: string, is: string): InputError =>
    new InputError(
      `batch ${batchId} was begun with ${what} ${was}, and not with ${is}: rows would be taken for others and written twice`,
      null,
      'Use what it was begun with, or give another --batch-id.',
    );
  if (begun.connection !== asked.connection) throw differs('connection', begun.connection, asked.connection);
  if (begun.resource !== asked.resource) throw differs('resource', begun.resource, asked.resource);
  if (begun.kind !== asked.kind) throw differs('an input in', NAMES[begun.kind], NAMES[asked.kind]);
  if (begun.keyColumn !== asked.keyColumn)
    throw differs('key column', begun.keyColumn ?? 'none', asked.keyColumn ?? 'none');
}

const NAMES: Readonly<Record<BatchFile['kind'], string>> = { csv: 'CSV', json: 'JSON' };

/** Columns that are text whatever the published snapshot says. */
export function textColumns(resource: WritableResource): readonly string[] {
  return resource === 'calendar-entries' ? ['source', 'sourceKey'] : [];
}
