import type { ExportView, ResourceView } from '../../temporal/follow/export-view.js';
import { runnableHere } from '../shared/runnable.js';
import { clip, count, counted, cut, wrap } from '../shared/text.js';

/**
 * One line for one resource: stage, pages, rows, rows per second, and the reason for a wait. Once it is published, the rows
 * are those of the snapshot, as in the summary.
 *
 * @param causes `below`: the caller prints the cause of a failure with `causeLines`
 */
export function resourceLine(
  view: ResourceView,
  rate: number | null,
  now: number,
  causes: 'inline' | 'below' = 'inline',
): string {
  const name = view.resource.padEnd(18);
  const stage = view.stage.padEnd(11);
  if (view.stage === 'waiting') return `${name} ${stage}`.trimEnd();
  // The number of pages is not known if the run ended before the first query.
  const pages = view.report !== null && view.pages === 0 ? '' : counted(view.pages, 'page');
  const published = view.report?.rows ?? null;
  const read = `${counted(view.rows, 'row')} read`;
  const parts = [
    pages.padStart(11),
    (published === null ? read : counted(published, 'row')).padStart(19),
    ...(published === null ? [] : [`${count(view.rows)} read`]),
  ];
  if (view.stage === 'extract' && rate !== null && rate > 0 && view.failure?.retry !== 'waiting')
    parts.push(`${count(rate)} rows/s`);
  const waiting = waitText(view, now, causes);
  if (waiting !== null) parts.push(waiting);
  return `${name} ${stage} ${parts.join('  ')}`.trimEnd();
}

/** Lines of a cause below its resource. */
const MAX_CAUSE_LINES = 3;

/** The cause of the last attempt's failure, wrapped for below its line. @param width longest line */
export function causeLines({ failure }: ResourceView, width: number): string[] {
  if (failure === null) return [];
  const text = `      ${runnableHere(failure.message).replace(/\s+/g, ' ')}`;
  const lines = wrap(text, width).map((line) => cut(line, width));
  return lines.length <= MAX_CAUSE_LINES
    ? lines
    : [...lines.slice(0, MAX_CAUSE_LINES - 1), cut(`${lines[MAX_CAUSE_LINES - 1]} …`, width)];
}

/** Why a resource is waiting; `null` if it is not. */
function waitText(
  { waitingUntil, failure, isStoreLimited }: ResourceView,
  now: number,
  causes: 'inline' | 'below',
): string | null {
  if (failure !== null) {
    const next = failure.retry === 'waiting' ? 'will retry' : 'retrying';
    const text = `attempt ${failure.attempt} failed, ${next}`;
    return causes === 'below' ? text : `${text}: ${clip(failure.message, 160)}`;
  }
  return rateLimitText(waitingUntil, now) ?? (isStoreLimited ? 'the store limits requests' : null);
}

/** That the service asked not to send requests until a time; `null` if there is none, or it has passed. */
export function rateLimitText(waitingUntil: number | null, now: number): string | null {
  if (waitingUntil === null || waitingUntil <= now) return null;
  return `waiting ${Math.ceil((waitingUntil - now) / 1000)} s, as requested by the service`;
}

/** The message that no worker polls; `null` if one does. */
export function workerLine({ worker, taskQueue }: Pick<ExportView, 'worker' | 'taskQueue'>): string | null {
  if (worker !== 'absent') return null;
  return `No worker polls task queue "${taskQueue ?? ''}". Start one in another terminal: \`worktrack worker\`. Waiting.`;
}
