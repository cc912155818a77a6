import type { RunId } from '../../src/core/brands.js';
import type { CleanedUp, MirrorState } from '../../src/core/contract/index.js';
import { DAY_MS } from '../../src/core/duration.js';
import { lateAfter } from './clean-up-due.js';

/** Unpublished runs that the state lists for the next clean-up. Clean-up finds older ones by the chain of change logs. */
const MAX_UNPUBLISHED = 100;
/** Days of the past that the state lists for the next clean-up. */
const MAX_DAYS = 100;

/**
 * Adds runs that may have written to the lake and are not published. Their delayed requests may still arrive.
 *
 * @param nominalStart of these runs, or of the run whose attempt was replaced, milliseconds since 1970
 * @param now milliseconds since 1970
 */
export function withUnpublished(
  { unpublished, cleanUpDays }: MirrorState,
  runIds: readonly RunId[],
  { nominalStart, now }: { readonly nominalStart: number; readonly now: number },
): Pick<MirrorState, 'unpublished' | 'lateUntil'> & Partial<Pick<MirrorState, 'cleanUpDays'>> {
  const all = [...unpublished.filter((id) => !runIds.includes(id)), ...runIds];
  // The clean-up finds later days by the ids of the runs.
  const isOfPast = nominalStart < now - DAY_MS;
  return {
    unpublished: all.slice(-MAX_UNPUBLISHED),
    ...(isOfPast ? withDays(cleanUpDays, [new Date(nominalStart).toISOString().slice(0, 10)]) : {}),
    lateUntil: lateAfter(now),
  };
}

function withDays(
  known: MirrorState['cleanUpDays'],
  days: readonly string[],
): Pick<MirrorState, 'cleanUpDays'> {
  return { cleanUpDays: [...new Set([...known, ...days])].slice(-MAX_DAYS) };
}

/**
 * The state after a clean-up.
 *
 * @param before the state before the run was published
 * @param run `begun` and `ended`: of the clean-up, milliseconds since 1970
 */
export function afterCleanUp(
  before: MirrorState,
  { complete, due, refused, replaced }: CleanedUp,
  run: {
    readonly runId: RunId;
    readonly startedAt: number;
    readonly begun: number;
    readonly ended: number;
  },
): Partial<MirrorState> {
  const changes: Partial<MirrorState> = {
    cleanUpDue: due ?? null,
    refused: refused ?? null,
    ...(replaced ? { lateUntil: lateAfter(run.ended) } : {}),
  };
  if (!complete) return changes;
  const upTo = run.startedAt < (before.sweepUntil ?? 0) ? null : run.runId;
  // Delayed requests of replaced attempts may still write what was just removed, so a later clean-up looks again.
  if (run.begun < (before.lateUntil ?? 0)) return { cleanedUpTo: upTo, ...changes };
  return { cleanedUpTo: upTo, unpublished: [], cleanUpDays: [], lateUntil: null, ...changes };
}
