import type { EpochMs, Millis } from './brands.js';
import { MINUTE_MS } from './duration.js';

/** How long a run believes words about a limit, without any other evidence. After that, the status counts. */
export const MAX_WORDS_MS = 15 * MINUTE_MS;

/** The time that a run has spent on refusals with only such words. Plain JSON, passed on between activities. */
export interface WordsSpent {
  /** Of refusals that have ended. */
  readonly ms: Millis;
  /** When the current one began, on Temporal's clock; null: the last request was not refused so. */
  readonly since: EpochMs | null;
}

export const NO_WORDS: WordsSpent = { ms: 0, since: null };

/** After a refusal with words. */
export function afterWords({ ms, since }: WordsSpent, now: number): WordsSpent {
  return { ms, since: since ?? now };
}

/** After an answer to a request. */
export function afterAnswer(spent: WordsSpent, now: number): WordsSpent {
  return spent.since === null ? spent : { ms: spent.ms + Math.max(0, now - spent.since), since: null };
}

/** Whether the budget of the run is used up. */
export function areWordsSpent(spent: WordsSpent, now: number): boolean {
  return afterAnswer(spent, now).ms >= MAX_WORDS_MS;
}
