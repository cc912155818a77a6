import { randomBytes } from 'node:crypto';
import type { ObjectKey } from '../../core/brands.js';
import { allDone } from '../../core/in-parallel.js';
import type { Removal } from '../../core/removal.js';
import { StoreError } from './errors.js';
import { toObjectKey } from './key.js';
import type { Expected, ObjectStore } from './port.js';

/** Prefix of the keys of probe objects. */
export const PROBES = '_staging/_probe-';

/**
 * Whether a store checks the conditions of conditional writes, ignores them, or rejects the requests. `changed-etag`: it, or a
 * proxy, shows a reader another ETag than the one that it accepts. `said`: the words of the store; `null` if it said nothing.
 */
export interface ConditionalWrites {
  readonly outcome: 'supported' | 'ignored' | 'refused' | 'changed-etag' | 'raced';
  readonly said: string | null;
}

type Tried = Pick<ObjectStore, 'swap' | 'write' | 'readIfExists' | 'remove'>;

/**
 * Tests the conditional writes that publishing needs (docs/explanation/how-it-works.md#atomic-publishing), with a probe
 * object under `_staging/`. The store must reject a second `If-None-Match: *` and an outdated `If-Match`, and accept the ETag
 * that a reader of the object sees.
 *
 * @returns `answer` fails with errors that do not concern conditions: a refused write is compared with one without a condition,
 *   and if that fails, too, its error is the cause. `removed` settles when the object has been removed, or the removal has failed.
 */
export function tryConditionalWrites(store: Tried): {
  readonly answer: Promise<ConditionalWrites>;
  readonly removed: Promise<Removal>;
} {
  const key = toObjectKey(`${PROBES}${randomBytes(8).toString('hex')}`);
  const answer = answerOf(store, key);
  const remove = (): Promise<Removal> => store.remove([key]);
  return { answer, removed: answer.then(remove, remove) };
}

/** As `tryConditionalWrites`, and waits for the removal of the object. */
export async function probeConditionalWrites(store: Tried): Promise<ConditionalWrites> {
  const { answer, removed } = tryConditionalWrites(store);
  await removed.catch(() => {});
  return answer;
}

async function answerOf(store: Tried, key: ObjectKey): Promise<ConditionalWrites> {
  const body = (text: string) => Buffer.from(JSON.stringify({ probe: text }));
  try {
    const first = await store.swap(key, body('first'), 'absent');
    if (first.outcome === 'conflict') return answer('refused');
    // As a run does: it reads `latest.json`, and expects that version at its end.
    const [second, read] = await allDone([
      store.swap(key, body('second'), 'absent'),
      store.readIfExists(key),
    ]);
    if (second.outcome === 'written') return answer('ignored');
    if (read === null || read.etag === '') return answer('changed-etag');
    const next = await store.swap(key, body('third'), { etag: read.etag });
    if (next.outcome === 'conflict') return answer(read.etag === first.etag ? 'refused' : 'changed-etag');
    // The first version's ETag is outdated now.
    const late = await store.swap(key, body('fourth'), { etag: first.etag });
    return answer(late.outcome === 'written' ? 'ignored' : 'supported');
  } catch (error) {
    if (!(error instanceof StoreError && isUnsupported(error))) throw error;
    await store.write(key, body('plain'));
    return { outcome: 'refused', said: error.said };
  }
}

/** Writers in one race. */
const RACERS = 8;
/**
 * Lets eight writers create one object at the same time, and then replace it: only one of them may succeed. Some stores check
 * the conditions one by one, but not those of simultaneous writes. For a store that passed `probeConditionalWrites`. The object
 * is always removed.
 *
 * @throws StoreError if no writer succeeds because of other errors
 */
export async function raceConditionalWrites(
  store: Pick<ObjectStore, 'swap' | 'readIfExists' | 'remove'>,
): Promise<ConditionalWrites> {
  const key = toObjectKey(`${PROBES}${randomBytes(8).toString('hex')}`);
  try {
    let expected: Expected = 'absent';
    for (const race of ['create', 'replace']) {
      const winners = await winnersOf(store, key, expected, race);
      // None, if the answer to the winner was lost and its repetition was refused.
      if (winners > 1) return { outcome: 'raced', said: `${winners} of ${RACERS}` };
      const read = await store.readIfExists(key);
      if (read === null) return answer('changed-etag');
      expected = { etag: read.etag };
    }
    return answer('supported');
  } finally {
    await store.remove([key]).catch(() => {});
  }
}

async function winnersOf(
  store: Pick<ObjectStore, 'swap'>,
  key: ObjectKey,
  expected: Expected,
  race: string,
): Promise<number> {
  // Equal content has the same ETag, so all bodies differ.
  const racers = Array.from({ length: RACERS }, (_, racer) =>
    store.swap(key, Buffer.from(JSON.stringify({ race, racer })), expected),
  );
  const ended = await Promise.allSettled(racers);
  const winners = ended.filter((one) => one.status === 'fulfilled' && one.value.outcome === 'written').length;
  const failed = ended.find((one) => one.status === 'rejected');
  if (winners === 0 && failed !== undefined) throw failed.reason;
  return winners;
}

function answer(outcome: ConditionalWrites['outcome']): ConditionalWrites {
  return { outcome, said: null };
}

/** Whether the store does not know conditional writes, or does not allow them. Other requests of a run show what else is wrong. */
function isUnsupported({ kind, cause }: StoreError): boolean {
  const { status, name } = (cause ?? {}) as { readonly status?: unknown; readonly name?: unknown };
  // Of a wrong region.
  if (name === 'AuthorizationHeaderMalformed') return false;
  return status === 501 || (kind === 'other' && (status === 400 || status === 405));
}

/** What is wrong with the conditional writes of a store, without a period at the end; `null` if nothing is. */
export function conditionProblem({ outcome, said }: ConditionalWrites): string | null {
  const words = said === null ? '' : ` (${said})`;
  switch (outcome) {
    case 'supported':
      return null;
    case 'ignored':
      return 'the store ignores the conditions of conditional writes (If-Match, If-None-Match)';
    case 'changed-etag':
      return (
        'the store rejects a conditional write (If-Match) with the ETag that it shows to a reader: the store, or a proxy in ' +
        'front of it, changes the ETag'
      );
    case 'raced':
      return `of eight simultaneous conditional writes with one condition, exactly one may succeed, but the store accepted ${said}`;
    default:
      return `the store rejects conditional writes (If-Match, If-None-Match)${words}`;
  }
}
