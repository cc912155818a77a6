import type { ExportView, ResourceView } from '../../temporal/follow/follow-export.js';
import type { FollowedView } from '../../temporal/follow/follow-workflow.js';
import type { WriteBackView } from '../../temporal/follow/follow-write-back.js';
import type { Silence } from '../../temporal/status/silence.js';
import { clip, count, counted, cut, wrap } from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';
import { type ProgressView, type Screen, showProgress, workerLine } from './screen.js';

/** Shows the progress of an export: a line for each resource. */
export function exportProgressOn(screen: Screen): ProgressView<ExportView> {
  const meter = new RateMeter();
  return showProgress(screen, (view, now) => ({
    missingWorker: workerLine(silenceOf(view)),
    items: view.resources.map((one) => {
      const rate = meter.rate(one.resource, one.rows, now);
      return {
        id: one.resource,
        stage: one.stage,
        line: resourceLine(one, rate, now, 'below'),
        below: (width) => causeLines(one, width),
        plain: hasNews(one, now) ? resourceLine(one, rate, now) : null,
        change: `${one.stage} ${one.unpause ?? ''} ${clip(one.failure?.message ?? '', 200)}`,
        isFinal: one.report !== null,
      };
    }),
  }));
}

/** Why no worker answers; `null` if one does, or if it is not known yet. */
function silenceOf({ worker }: FollowedView): Silence | null {
  return typeof worker === 'string' ? null : worker;
}

/** Shows the progress of a write-back in one line. */
export function batchProgressOn(screen: Screen): ProgressView<WriteBackView> {
  const meter = new RateMeter();
  return showProgress(screen, (view, now) => {
    const { stage } = view;
    const line = batchLine(view, meter.rate('rows', view.done, now), now);
    const item = {
      id: 'batch',
      stage,
      line,
      change: `${stage} ${silenceOf(view)?.kind ?? ''} ${view.unpause ?? ''}`,
      isFinal: stage === 'done',
    };
    return { missingWorker: workerLine(silenceOf(view)), items: [item] };
  });
}

/** Shows how many connections have ended. */
export function severalProgressOn(screen: Screen) {
  return showProgress<Record<'done' | 'total' | 'problems', number>>(screen, ({ done, total, problems }) => {
    const failed = problems === 0 ? '' : `, ${count(problems)} with problems`;
    const line = `${count(done)} of ${counted(total, 'connection')}${failed}`;
    const item = { id: 'all', stage: 'running', line, plain: done === 0 ? null : line };
    return { missingWorker: null, items: [item] };
  });
}

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
  const pages = view.pages === 0 ? '' : counted(view.pages, 'page');
  const published = view.report?.rows ?? null;
  const read = hasRead(view) ? `${counted(view.rows, 'row')} read` : '';
  const parts = [
    pages.padStart(11),
    (published === null ? read : counted(published, 'row')).padStart(19),
    ...(published === null || !hasRead(view) ? [] : [`${count(view.rows)} read`]),
  ];
  if (view.stage === 'read' && rate !== null && rate > 0 && view.failure?.retry !== 'waiting')
    parts.push(`${count(rate)} rows/s`);
  const waiting = waitText(view, now, causes);
  if (waiting !== null) parts.push(waiting);
  return `${name} ${stage} ${parts.join('  ')}`.trimEnd();
}

/** Whether pages have arrived. If the run ended before the first query, the number of pages is not known. */
function hasRead({ pages, rows }: ResourceView): boolean {
  return pages > 0 || rows > 0;
}

/** Whether there is something to say in a log: counts, a wait, a failure or the end. */
function hasNews(view: ResourceView, now: number): boolean {
  if (view.stage === 'waiting') return false;
  return view.report !== null || hasRead(view) || waitText(view, now, 'inline') !== null;
}

/** Lines of a cause below its resource. */
const MAX_CAUSE_LINES = 3;

/** The cause of the last attempt's failure, wrapped for below its line. @param width longest line */
export function causeLines({ failure, unpause }: ResourceView, width: number): string[] {
  const cause = unpause === null ? failure && runnableHere(failure.message) : pausedText(unpause);
  if (cause === null) return [];
  const text = `      ${cause.replace(/\s+/g, ' ')}`;
  const lines = wrap(text, width).map((line) => cut(line, width));
  return lines.length <= MAX_CAUSE_LINES
    ? lines
    : [...lines.slice(0, MAX_CAUSE_LINES - 1), cut(`${lines[MAX_CAUSE_LINES - 1]} …`, width)];
}

/** Why a resource is waiting; `null` if it is not. */
function waitText(
  { waitingUntil, failure, isStoreLimited, unpause }: ResourceView,
  now: number,
  causes: 'inline' | 'below',
): string | null {
  if (unpause !== null) return causes === 'below' ? 'paused in Temporal' : pausedText(unpause);
  if (failure !== null) {
    const next = failure.retry === 'waiting' ? 'will retry' : 'retrying';
    const text = `attempt ${failure.attempt} failed, ${next}`;
    return causes === 'below' ? text : `${text}: ${clip(failure.message, 160)}`;
  }
  return rateLimitText(waitingUntil, now) ?? (isStoreLimited ? 'the store limits requests' : null);
}

/** That somebody paused the step, and the command that continues it. */
function pausedText(unpause: string): string {
  return `paused in Temporal; to continue it: ${unpause}`;
}

/** That the service asked not to send requests until a time; `null` if there is none, or it has passed. */
function rateLimitText(waitingUntil: number | null, now: number): string | null {
  if (waitingUntil === null || waitingUntil <= now) return null;
  return `waiting ${Math.ceil((waitingUntil - now) / 1000)} s, as requested by the service`;
}

const STAGES: Readonly<Record<WriteBackView['stage'], string>> = {
  waiting: 'waiting for a worker',
  plan: 'reading the input',
  wait: 'waiting for its turn',
  send: 'sending',
  results: 'writing the results',
  'read-before': 'reading changes before writing',
  'read-back': 'reading back into the lake',
  done: 'done',
};

/** The progress of a batch in one line. @param rate rows per second */
export function batchLine(view: WriteBackView, rate: number | null, now: number): string {
  const { stage, rows, done, waitingUntil, failure, unpause } = view;
  const parts = [STAGES[silenceOf(view) === null ? stage : 'waiting']];
  if (rows !== null && stage !== 'plan') parts.push(`${count(done)} of ${count(rows)} rows`);
  if (stage === 'send' && rate !== null && rate > 0) parts.push(`${count(rate)} rows/s`);
  if (unpause !== null) parts.push(pausedText(unpause));
  else if (failure !== null)
    parts.push(`attempt ${failure.attempt} failed, retrying: ${clip(failure.message, 160)}`);
  else parts.push(rateLimitText(waitingUntil, now) ?? '');
  return parts.filter(Boolean).join('  ');
}

/** Time span of a rate, in milliseconds. */
const SPAN_MS = 10_000;

/** Rows per second of each resource over the last seconds. */
export class RateMeter {
  readonly #samples = new Map<string, { at: number; rows: number }[]>();

  /** Adds a sample and returns rows per second; `null` until there are two samples. */
  rate(resource: string, rows: number, now: number): number | null {
    const samples = (this.#samples.get(resource) ?? []).filter(({ at }) => now - at <= SPAN_MS);
    const last = samples.at(-1);
    // A lower count belongs to another run.
    const kept = last !== undefined && last.rows > rows ? [] : samples;
    kept.push({ at: now, rows });
    this.#samples.set(resource, kept);
    const [first] = kept;
    if (first === undefined || now - first.at < 500) return null;
    return ((rows - first.rows) * 1000) / (now - first.at);
  }
}
