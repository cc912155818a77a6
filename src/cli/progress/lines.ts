import type { ExportView, ResourceView } from '../../temporal/export-view.js';
import { clip, count, counted } from '../text.js';

/** One line for one resource: what it does, pages, rows, rows a second, what it waits for. */
export function resourceLine(view: ResourceView, rate: number | null, now: number): string {
  const name = view.resource.padEnd(18);
  const stage = stageText(view).padEnd(11);
  if (view.stage === 'waiting') return `${name} ${stage}`.trimEnd();
  // Of a run that was over before anyone looked, the pages are not known.
  const pages = view.report !== null && view.pages === 0 ? '' : counted(view.pages, 'page');
  const parts = [pages.padStart(11), `${counted(view.rows, 'row')}`.padStart(14)];
  if (view.stage === 'extract' && rate !== null && rate > 0 && view.trouble?.retry !== 'waiting')
    parts.push(`${count(rate)} rows/s`);
  const waiting = waitText(view, now);
  if (waiting !== null) parts.push(waiting);
  return `${name} ${stage} ${parts.join('  ')}`.trimEnd();
}

/** What a resource waits for, in words; `null` when it works. */
export function waitText({ waitingUntil, trouble }: ResourceView, now: number): string | null {
  if (trouble !== null) {
    const next = trouble.retry === 'waiting' ? 'will try again' : 'trying again';
    return `attempt ${trouble.attempt} failed, ${next}: ${clip(trouble.message, 160)}`;
  }
  if (waitingUntil === null || waitingUntil <= now) return null;
  return `waits ${Math.ceil((waitingUntil - now) / 1000)} s, as the service asked`;
}

function stageText({ stage }: ResourceView): string {
  return stage === 'clean-up' ? 'clean up' : stage;
}

/** What stands before everything else: that nobody works. `null` when somebody does. */
export function workerLine({ worker, taskQueue }: ExportView): string | null {
  if (worker !== 'absent') return null;
  return `No worker answers on the task queue "${taskQueue ?? ''}". Start one: worktrack worker (same --config, --task-queue and Temporal). Waiting for it.`;
}
