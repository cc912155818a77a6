import type { ObjectKey } from '../../src/core/brands.js';
import { type ConditionalWrites, type ObjectStore, PROBES } from '../../src/lake/store/index.js';
import { finalFailure } from '../failures.js';

/** One answer for each store that this process has open. */
const answers = new WeakMap<ObjectStore, Promise<ConditionalWrites>>();

/** A probe that is older was left by a worker that died over it; clocks may differ. */
const OLD_MS = 24 * 60 * 60_000;

/**
 * Refuses a store that does not keep the conditions of conditional writes, before anything is written to it: two runs
 * at once could both swap the pointer there, and one of them would be lost in silence (DESIGN 2). Asked once per
 * connection and worker process.
 *
 * @param now milliseconds since 1970
 * @throws a final failure `Configuration`
 */
export async function checkConditionalWrites(store: ObjectStore, now: number): Promise<void> {
  const asking = answers.get(store) ?? probe(store, now);
  answers.set(store, asking);
  let answer: ConditionalWrites;
  try {
    answer = await asking;
  } catch (error) {
    // Says nothing of conditions: the next run asks again.
    answers.delete(store);
    throw error;
  }
  if (answer === 'supported') return;
  answers.delete(store);
  const what =
    answer === 'ignored'
      ? 'carries out conditional writes (If-Match, If-None-Match) although their condition does not hold'
      : 'turns conditional writes (If-Match, If-None-Match) down';
  throw finalFailure(
    'Configuration',
    `${store.url}: the store ${what}, so that a snapshot cannot be published safely; nothing was written. Use AWS S3 or ` +
      'another store with conditional writes, a newer version of this one, or check what a proxy in front of it does to these headers.',
  );
}

async function probe(store: ObjectStore, now: number): Promise<ConditionalWrites> {
  const answer = await store.probeConditionalWrites();
  const left: ObjectKey[] = [];
  for await (const { key, modifiedAt } of store.list(PROBES)) if (now - modifiedAt > OLD_MS) left.push(key);
  await store.remove(left);
  return answer;
}
