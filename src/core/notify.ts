import type { NotifyEvent, RunOutcome } from './contract.js';

/**
 * When somebody is told of a run: whenever one failed, and of the first good one after that. A cancelled one is no news.
 * Pure: the workflow sandbox imports this file.
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

/** Why nothing may be sent to an address, in words; `null` where it may. They do not repeat it: it may be a secret. */
export function notifyUrlProblem(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'is no URL';
  }
  if (url.username !== '' || url.password !== '') return 'holds credentials; put them into headers';
  if (url.protocol === 'https:') return null;
  if (url.protocol !== 'http:') return 'is no http or https URL';
  const { hostname } = url;
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
  return loopback ? null : 'is plain http to another machine; take https';
}
