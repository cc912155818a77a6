import type { ExportView, ResourceView } from '../../temporal/follow/export-view.js';
import { clip, count, counted } from '../shared/text.js';

/** One line for one resource: stage, pages, rows, rows per second, and the reason for a wait. */
export function resourceLine(view: ResourceView, rate: number | null, now: number): string {
  const name = view.resource.padEnd(18);
  const stage = stageText(view).padEnd(11);
  if (view.stage === 'waiting') return `${name} ${stage}`.trimEnd();
  // The number of pages is not known if the run ended before the first query.
  const pages = view.report !== null && view.pages === 0 ? '' : counted(view.pages, 'page');
  const parts = [pages.padStart(11), `${counted(view.rows, 'row')}`.padStart(14)];
  if (view.stage === 'extract' && rate !== null && rate > 0 && view.failure?.retry !== 'waiting')
    parts.push(`${count(rate)} rows/s`);
  const waiting = waitText(view, now);
  if (waiting !== null) parts.push(waiting);
  return `${name} ${stage} ${parts.join('  ')}`.trimEnd();
}

/** Why a resource is waiting; `null` if it is not. */
function waitText({ waitingUntil, failure }: ResourceView, now: number): string | null {
  if (failure !== null) {
    const next = failure.retry === 'waiting' ? 'will retry' : 'retrying';
    return `attempt ${failure.attempt} failed, ${next}: ${clip(failure.message, 160)}`;
  }
  return rateLimitText(waitingUntil, now);
}

/** That the service asked not to send requests until a time; `null` if there is none, or it has passed. */
export function rateLimitText(waitingUntil: number | null, now: number): string | null {
  if (waitingUntil === null || waitingUntil <= now) return null;
  return `waiting ${Math.ceil((waitingUntil - now) / 1000)} s, as requested by the service`;
}

function stageText({ stage }: ResourceView): string {
  return stage === 'clean-up' ? 'clean up' : stage;
}

/** The message that no worker is polling; `null` if one is. */
export function workerLine({ worker, taskQueue }: Pick<ExportView, 'worker' | 'taskQueue'>): string | null {
  if (worker !== 'absent') return null;
  return `No worker is polling task queue "${taskQueue ?? ''}". Start one with: worktrack worker (same --config, --task-queue and Temporal). Waiting.`;
}
