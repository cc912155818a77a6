import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { ActiveRun, RunError, RunOutcome } from '../src/core/contract.js';

const KNOWN: readonly string[] = [
  'Refused',
  'Configuration',
  'Transient',
  'BrokenPromise',
  'Lake',
  'Displaced',
  'NotAddingUp',
];

/** What ended a run, in words for a person: the innermost failure says it, the ones around it only carry it. */
export function toRunError(error: unknown): RunError {
  const failure = innermost(error);
  if (failure instanceof ApplicationFailure) {
    const [detail] = (failure.details ?? []) as { scope?: RunError['scope'] }[];
    return {
      type: KNOWN.includes(failure.type ?? '') ? (failure.type as RunError['type']) : 'Failed',
      message: failure.message,
      ...(detail?.scope === undefined ? {} : { scope: detail.scope }),
    };
  }
  if (failure instanceof TimeoutFailure) {
    const last = lastAttempt(failure);
    if (last !== null) return last;
    return { type: 'Transient', message: `gave up: ${failure.message}; is a worker running?` };
  }
  return { type: 'Failed', message: failure instanceof Error ? failure.message : String(failure) };
}

/**
 * What the last attempt said before time ran out. The server tells it as the cause of the time-out, and the SDK drops
 * that cause (seen in 1.24.0): only the raw failure has it, as text unless a codec has taken its attributes.
 */
function lastAttempt({ failure }: TimeoutFailure): RunError | null {
  const cause = failure?.cause;
  if (!cause?.message || cause.encodedAttributes) return null;
  const type = cause.applicationFailureInfo?.type ?? '';
  return {
    type: KNOWN.includes(type) ? (type as RunError['type']) : 'Failed',
    message: `gave up: ${cause.message}`,
  };
}

/** Prefers what the last attempt said to the bare news that time ran out. */
function innermost(error: unknown): unknown {
  let found = error;
  while (found instanceof ActivityFailure || (found instanceof TimeoutFailure && found.cause !== undefined)) {
    if (found.cause === undefined) break;
    found = found.cause;
  }
  return found;
}

export function toOutcome(error: unknown): Exclude<RunOutcome, 'published'> {
  if (isCancellation(error)) return 'cancelled';
  return toRunError(error).type === 'Refused' ? 'refused' : 'failed';
}

/**
 * Whether the next run may go on from the pages that a failed one had staged: when the cause lies outside of them. What
 * may lie in them is tried once more, and then everything is read anew.
 */
export function mayResume(error: unknown, { resumed }: Pick<ActiveRun, 'resumed'>): boolean {
  const { type } = toRunError(error);
  if (toOutcome(error) === 'cancelled') return false;
  if (type === 'Refused' || type === 'Transient' || type === 'Configuration') return true;
  return (type === 'Lake' || type === 'Failed') && resumed === null;
}
