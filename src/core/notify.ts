import type { NotifiedRun, NotifyEvent, NotifyInput, RunOutcome, RunReport } from './contract/index.js';
import { limitReports } from './text-budget.js';

/**
 * Decides on the notification of a run: one for each failure, and one for the first published run after a failure. A
 * cancelled run has none. Pure: the workflow sandbox imports this file.
 *
 * @param failing whether the last run that was not cancelled failed
 */
export function eventOf(
  failing: boolean,
  outcome: RunOutcome,
): { readonly event: NotifyEvent | null; readonly failing: boolean } {
  if (outcome === 'cancelled') return { event: null, failing };
  if (outcome === 'published') return { event: failing ? 'recovery' : null, failing: false };
  return { event: 'failure', failing: true };
}

/**
 * The notification of an export: one for all runs with an event that is wanted. With failures, the event is `failure`, and
 * runs that recovered are listed beside them.
 *
 * @param wanted events that the configuration names
 * @param at milliseconds since 1970
 * @returns `null` if there is nothing to send
 */
export function exportNotification(
  connection: string,
  reports: readonly RunReport[],
  wanted: readonly NotifyEvent[],
  at: number,
): NotifyInput | null {
  const resources = limitReports(reports).flatMap(
    ({ resource, outcome, runId, error, event }): NotifiedRun[] =>
      event === undefined || !wanted.includes(event) ? [] : [{ resource, event, outcome, runId, error }],
  );
  const worst = resources.find(({ event }) => event === 'failure') ?? resources[0];
  if (worst === undefined) return null;
  const { event, outcome, error } = worst;
  const [only] = resources.length === 1 ? resources : [];
  const [resource, runId] = [only?.resource ?? null, only?.runId ?? null];
  return { connection, event, outcome, error, resource, runId, resources, at };
}

/** Why a URL is not allowed for notifications; `null` if it is. The text does not repeat the URL, which may be a secret. */
export function notifyUrlProblem(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'is not a URL';
  }
  if (url.username !== '' || url.password !== '') return 'contains credentials; use `headers` for them';
  if (url.protocol === 'https:') return null;
  if (url.protocol !== 'http:') return 'is not an http or https URL';
  return isLoopback(url.hostname) ? null : 'is plain http to another machine; use https';
}

/** Whether the host of a URL is this machine: localhost, 127.0.0.0/8 or [::1]. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
