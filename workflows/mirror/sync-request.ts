import { ApplicationFailure } from '@temporalio/workflow';
import type { RunRequest, SyncInput } from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { parseSince } from '../../src/core/utc-time.js';

const FIELDS: readonly string[] = ['mode', 'reconcile', 'since'];

/** Rejects an invalid update before it enters the history. @throws ApplicationFailure `InvalidSync` */
export function checkSyncInput(input: SyncInput | undefined): void {
  const problem = problemOf(input ?? {});
  if (problem !== null) throw ApplicationFailure.nonRetryable(`sync: ${problem}`, 'InvalidSync');
}

function problemOf(input: SyncInput): string | null {
  if (typeof input !== 'object' || Array.isArray(input)) return 'the argument must be an object';
  const unknown = Object.keys(input).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"; the fields are ${FIELDS.join(', ')}`;
  const { mode, reconcile, since } = input;
  if (mode !== undefined && mode !== 'full' && mode !== 'increment')
    return 'mode must be "full" or "increment"';
  if (reconcile !== undefined && typeof reconcile !== 'boolean') return 'reconcile must be true or false';
  if (since === undefined) return null;
  if (typeof since !== 'string' || parseSince(since) === null)
    return 'since must be a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z';
  if (reconcile === true || mode === 'full') return 'since cannot be combined with a full pass';
  return null;
}

/** @param now milliseconds since 1970 */
export function syncRequest(input: SyncInput | undefined, requestId: string, now: number): RunRequest {
  const { mode, reconcile, since } = input ?? {};
  const changes = {
    mode: reconcile === true ? 'full' : (mode ?? 'increment'),
    reconcile: reconcile === true,
    since: since === undefined ? null : parseSince(since),
  } as const;
  return { ...runSpec(now, changes), requestId, replyTo: null };
}
