import type { ObjectKey } from '../core/brands.js';
import type { WrittenPolicy, WrittenResults } from '../core/contract/write-back.js';
import type { ObjectStore } from '../lake/store/index.js';
import { isPlanOf, summaryKey } from './layout.js';
import { decodeSealed } from './sealed.js';

/** The content of `summary.json`. */
export interface Summary {
  readonly plan: ObjectKey;
  /** Whether all rows have an outcome, so that another run would change nothing. */
  readonly complete: boolean;
  /** Rows that were not sent because an earlier batch has written them. */
  readonly found: number;
  readonly written: WrittenResults;
}

/** Whether another run would change nothing. `again` also sends the rows that earlier batches have written. */
export function isFinal(
  { complete, found }: Pick<Summary, 'complete' | 'found'>,
  policy: WrittenPolicy | undefined,
): boolean {
  return complete && (policy !== 'again' || found === 0);
}

/** A batch that has a final outcome for every row of an input. */
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
  policy: WrittenPolicy | undefined,
): Promise<WrittenBatch | null> {
  const key = summaryKey(batchId);
  const [found, info] = await Promise.all([store.readIfExists(key), store.head(key)]);
  if (found === null || info === null) return null;
  const summary = decodeSealed<Summary>(key, found.body);
  const { plan, written } = summary;
  return isFinal(summary, policy) && isPlanOf(plan, input) ? { at: info.modifiedAt, written } : null;
}
