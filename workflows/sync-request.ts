import { ApplicationFailure } from '@temporalio/workflow';
import type { RunRequest, SyncInput } from '../src/core/contract.js';

const KNOWN: readonly string[] = ['mode', 'reconcile', 'since'];

/** @throws ApplicationFailure for an update that asks for what does not exist, before it is accepted */
export function checkSyncInput(input: SyncInput | undefined): void {
  const problem = problemOf(input ?? {});
  if (problem !== null) throw ApplicationFailure.nonRetryable(`sync: ${problem}`, 'InvalidSync');
}

function problemOf(input: SyncInput): string | null {
  if (typeof input !== 'object' || Array.isArray(input)) return 'its argument is an object';
  const unknown = Object.keys(input).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) return `"${unknown}" is not known; there are ${KNOWN.join(', ')}`;
  const { mode, reconcile, since } = input;
  if (mode !== undefined && mode !== 'full' && mode !== 'increment') return 'mode is "full" or "increment"';
  if (reconcile !== undefined && typeof reconcile !== 'boolean') return 'reconcile is true or false';
  if (since === undefined) return null;
  if (
    typeof since !== 'string' ||
    !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(since) ||
    Number.isNaN(Date.parse(since))
  )
    return 'since is a time like 2026-11-21T02:00:00Z';
  if (reconcile === true || mode === 'full') return 'since does not go with a full pass';
  return null;
}

/** @param now milliseconds since 1970 */
export function syncRequest(input: SyncInput | undefined, requestId: string, now: number): RunRequest {
  const { mode, reconcile, since } = input ?? {};
  return {
    kind: 'run',
    requestId,
    replyTo: null,
    mode: reconcile === true ? 'full' : (mode ?? 'increment'),
    reconcile: reconcile === true,
    adopt: false,
    allowDeletes: false,
    since: since ?? null,
    nominalStart: now,
  };
}
