import pc from 'picocolors';
import type { WriteBackView } from '../../temporal/follow-write-back.js';
import { RateMeter } from '../progress/rate.js';
import type { Screen } from '../progress/screen.js';
import { clip, count } from '../text.js';

const PLAIN_EVERY_MS = 5_000;

const STAGES: Readonly<Record<WriteBackView['stage'], string>> = {
  waiting: 'waits for a worker',
  plan: 'reads the input',
  wait: 'waits for another batch of the resource',
  send: 'sends',
  results: 'writes the results',
  'read-back': 'reads back into the lake',
  done: 'done',
};

/** Shows where a batch stands: one line that is redrawn on a terminal, a line now and then where there is none. */
export class BatchProgress {
  readonly #screen: Screen;
  readonly #meter = new RateMeter();
  #last = '';
  #lastStage = '';
  #at = Number.NEGATIVE_INFINITY;
  #drawn = false;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  show(view: WriteBackView, now: number = Date.now()): void {
    const line = viewLine(view, this.#meter.rate('rows', view.done, now), now);
    if (this.#screen.isTTY === true) {
      const width = (this.#screen.columns || 80) - 1;
      this.#screen.write(`\r\x1b[K${pc.cyan(clip(line, width))}`);
      this.#drawn = true;
      return;
    }
    const isNew = `${view.stage} ${view.worker}` !== this.#lastStage;
    if (line === this.#last || (!isNew && now - this.#at < PLAIN_EVERY_MS)) return;
    [this.#last, this.#lastStage, this.#at] = [line, `${view.stage} ${view.worker}`, now];
    this.#screen.write(`${line}\n`);
  }

  /** Leaves the last state on the screen. */
  end(): void {
    if (this.#drawn) this.#screen.write('\n');
    this.#drawn = false;
  }
}

/** Where a batch stands, in one line. @param rate rows a second */
export function viewLine(view: WriteBackView, rate: number | null, now: number): string {
  const { stage, rows, done, waitingUntil, trouble, worker, taskQueue } = view;
  if (worker === 'absent') {
    return `No worker answers on the task queue "${taskQueue ?? ''}". Start one: worktrack worker (same --config, --task-queue and Temporal). Waiting for it.`;
  }
  const parts = [STAGES[stage]];
  if (rows !== null && stage !== 'plan') parts.push(`${count(done)} of ${count(rows)} rows`);
  if (stage === 'send' && rate !== null && rate > 0) parts.push(`${count(rate)} rows/s`);
  if (trouble !== null)
    parts.push(`attempt ${trouble.attempt} failed, trying again: ${clip(trouble.message, 160)}`);
  else if (waitingUntil !== null && waitingUntil > now)
    parts.push(`waits ${Math.ceil((waitingUntil - now) / 1000)} s, as the service asked`);
  return parts.join('  ');
}
