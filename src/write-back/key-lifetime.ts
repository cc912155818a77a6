import type { SentBefore } from '../api/index.js';
import type { EpochMs, Millis } from '../core/brands.js';
import type { UnknownPolicy } from '../core/contract/write-back.js';
import { type ChunkRow, knownOf, type RowState, type SendingRules } from './plan-file.js';
import { ageOf } from './request-age.js';

/** What the lifetime of an idempotency key depends on. */
interface Lifetime {
  /** How long the service remembers a key. */
  readonly unknownAfterMs: Millis;
  readonly repeat: SendingRules['repeat'];
  /** What to do with rows whose key is forgotten. */
  readonly unknown: UnknownPolicy;
  /** The run of the batch. */
  readonly run: string;
  /** The latest time that a clock shows. */
  readonly now: EpochMs;
}

/** What becomes of a row without an outcome. `unclear`: it stays `unknown`. */
type Fate =
  | 'unclear'
  | 'skipped'
  /** It is sent, but not after `notAfter`: the service could have forgotten its key. */
  | { readonly before: SentBefore; readonly notAfter: EpochMs };

/**
 * Whether a row without an outcome is sent. After `writeBack.unknownAfter` the service may have forgotten its idempotency key,
 * and would write the row a second time (docs/how-to/written-rows.md#rows-with-an-unknown-outcome). With `repeat: never`, the
 * service has never known it. With `--unknown skip`, such rows are settled as skipped, unless this run has put them in doubt.
 */
export function whileRemembered(
  row: Pick<ChunkRow, 'receipt' | 'sentAt' | 'keyNumber' | 'asked'>,
  state: RowState | undefined,
  { unknownAfterMs, repeat, unknown, run, now }: Lifetime,
): Fate {
  const { sentAt: firstSent } = knownOf(row, state);
  const age = firstSent === null ? 0 : (ageOf(firstSent, now) ?? Number.POSITIVE_INFINITY);
  // In this run, a complete response left the outcome unknown, so that another request would change nothing; or the service, which
  // ignores keys, may have got the row: once for each time that a user asks. The user has not decided about such a doubt yet.
  if (state !== undefined && [...state.unclearIn, ...state.sentIn].includes(run)) return 'unclear';
  const isForgotten = age > unknownAfterMs || (firstSent !== null && repeat === 'never');
  const isResent = unknown === 'resend' || row.asked === true;
  if (isForgotten && !isResent) return unknown === 'skip' ? 'skipped' : 'unclear';
  // The service does not know a new key from the requests before it.
  const isStrange = isForgotten || row.keyNumber !== undefined;
  const before = firstSent === null ? 'never' : isStrange ? 'forgotten' : 'remembered';
  return { before, notAfter: now + unknownAfterMs - (isStrange ? 0 : age) };
}
