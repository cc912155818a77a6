import { shownBatchId } from '../core/contract/write-back.js';
import type { ObjectStore } from '../lake/store/index.js';
import { InputError } from './input-error.js';
import { BATCHES_PREFIX } from './layout.js';

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
    throw new InputError(
      `there is no batch ${JSON.stringify(text)} in ${store.url}`,
      null,
      `Give the id that write-back printed, or its first digits (at least ${MIN_DIGITS}).`,
    );
  if (others.length === 0) return only;
  throw new InputError(
    `${found.length} batches begin with ${JSON.stringify(text)}: ${found.slice(0, 5).map(shownBatchId).join(', ')}`,
    null,
    'Give more digits.',
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
