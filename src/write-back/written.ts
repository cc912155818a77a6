import type { ObjectKey } from '../core/brands.js';
import type { WrittenResults } from '../core/contract/write-back.js';
import type { ObjectStore } from '../lake/store/index.js';
import { isPlanOf, summaryKey } from './layout.js';
import { decodeSealed } from './sealed.js';

/** The content of `summary.json`. */
export interface Summary {
  readonly plan: ObjectKey;
  /** Whether all rows have an outcome, so that another run would change nothing. */
  readonly complete: boolean;
  readonly written: WrittenResults;
}

/** A batch in which every row of an input has a final outcome. */
export interface WrittenBatch {
  /** When the last run of the batch wrote its results, milliseconds since 1970. */
  readonly at: number;
  readonly written: WrittenResults;
}

/** The results of an input that is already written; `null` if a run of the batch may still send rows. */
export async function writtenBatch(
  store: ObjectStore,
  batchId: string,
  input: ObjectKey,
): Promise<WrittenBatch | null> {
  const key = summaryKey(batchId);
  const [found, info] = await Promise.all([store.readIfExists(key), store.head(key)]);
  if (found === null || info === null) return null;
  const { plan, complete, written } = decodeSealed<Summary>(key, found.body);
  return complete && isPlanOf(plan, input) ? { at: info.modifiedAt, written } : null;
}
