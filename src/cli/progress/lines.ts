import type { ExportView, ResourceView } from '../../temporal/export-view.js';
import { clip, count, counted } from '../text.js';

/** One line for one resource: what it does, pages, rows, rows a second, what it waits for. */
export function resourceLine(view: ResourceView, rate: number | null, now: number): string {
  const name = view.resource.padEnd(18);
  const stage = stageText(view).padEnd(11);
  if (view.stage === 'waiting') return `${name} ${stage}`.trimEnd();
  const parts = [`${counted(view.pages, 'page')}`.padStart(11), `${counted(view.rows, 'row')}`.padStart(14)];
  if (view.stage === 'extract' && rate !== null && rate > 0 && view.trouble === null)
    parts.push(`${count(rate)} rows/s`);
  const waiting = waitText(view, now);
  if (waiting !== null) parts.push(waiting);
  return `${name} ${stage} ${parts.join('  ')}`.trimEnd();
}

/** What a resource waits for, in words; `null` when it works. */
export function waitText({ waitingUntil, trouble }: ResourceView, now: number): string | null {
  if (trouble !== null)
    return `attempt ${trouble.attempt} failed, trying again: ${clip(trouble.message, 160)}`;
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
