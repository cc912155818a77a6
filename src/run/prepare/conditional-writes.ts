import type { EpochMs } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import {
  type ConditionalWrites,
  collected,
  conditionProblem,
  type ObjectStore,
  PROBES,
  probeConditionalWrites,
} from '../../lake/store/index.js';
import type { OpenConnection } from '../deps.js';
import { finalFailure } from '../failures.js';

/** The result of the probe for each connection of this process. Its store is another object after it was idle. */
const answers = new WeakMap<OpenConnection, Promise<ConditionalWrites>>();

/** An older probe object was left by a worker that died during the probe. One day allows for clocks that differ. */
const OLD_MS = DAY_MS;

/**
 * Rejects a store that ignores the conditions of conditional writes, before anything is written to it. On such a store
 * two concurrent runs could both swap the pointer, and one of them would be lost without an error
 * (docs/explanation/how-it-works.md#atomic-publishing). The store is probed once per connection and worker process.
 *
 * @throws a final failure `Configuration`
 */
export async function checkConditionalWrites(connection: OpenConnection, now: EpochMs): Promise<void> {
  const { store } = connection;
  const probing = answers.get(connection) ?? probe(store, now);
  answers.set(connection, probing);
  let answer: ConditionalWrites;
  try {
    answer = await probing;
  } catch (error) {
    // The error says nothing about conditional writes, so the next run probes again.
    answers.delete(connection);
    throw error;
  }
  const problem = conditionProblem(answer);
  if (problem === null) return;
  answers.delete(connection);
  throw finalFailure(
    'Configuration',
    `${store.url}: ${problem}, so a snapshot cannot be published safely. Nothing was written. Use AWS S3, another ` +
      'store with conditional writes, or a newer version of this one. If there is a proxy, check that it passes these headers on.',
  );
}

async function probe(store: ObjectStore, now: number): Promise<ConditionalWrites> {
  const answer = await probeConditionalWrites(store);
  const left = (await collected(store.list(PROBES))).filter(({ modifiedAt }) => now - modifiedAt > OLD_MS);
  await store.remove(left.map(({ key }) => key));
  return answer;
}
