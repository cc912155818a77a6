import pc from 'picocolors';
import type { WriteBackView } from '../../temporal/follow/follow-write-back.js';
import { rateLimitText, workerLine } from '../progress/lines.js';
import { RateMeter } from '../progress/rate.js';
import type { Screen } from '../progress/screen.js';
import { printable } from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';
import { clip, count, wrap } from '../shared/text.js';

const PLAIN_EVERY_MS = 5_000;

const STAGES: Readonly<Record<WriteBackView['stage'], string>> = {
  waiting: 'waiting for a worker',
  plan: 'reading the input',
  wait: 'waiting for its turn',
  send: 'sending',
  results: 'writing the results',
  'read-back': 'reading back into the lake',
  done: 'done',
};

/** Shows the progress of a batch: redraws one line on a terminal, and writes a line every few seconds otherwise. */
export class BatchProgress {
  readonly #screen: Screen;
  readonly #meter = new RateMeter();
  #last = '';
  #noWorker: string | null = null;
  #lastStage = '';
  #at = Number.NEGATIVE_INFINITY;
  #drawn = false;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  show(view: WriteBackView, now: number = Date.now()): void {
    const line = viewLine(view, this.#meter.rate('rows', view.done, now), now);
    const width = this.#screen.isTTY === true ? (this.#screen.columns || 80) - 1 : Number.POSITIVE_INFINITY;
    const noWorker = workerLine(view);
    // In lines of its own, because the command in it must stay whole.
    if (noWorker !== null && noWorker !== this.#noWorker) {
      const lines = wrap(printable(runnableHere(noWorker)), width).join('\n');
      this.#screen.write(`${this.#drawn ? '\r\x1b[K' : ''}${lines}\n`);
    }
    this.#noWorker = noWorker;
    if (this.#screen.isTTY === true) {
      this.#screen.write(`\r\x1b[K${pc.cyan(clip(printable(line), width))}`);
      this.#drawn = true;
      return;
    }
    const isNew = `${view.stage} ${view.worker}` !== this.#lastStage;
    if (line === this.#last || (!isNew && now - this.#at < PLAIN_EVERY_MS)) return;
    [this.#last, this.#lastStage, this.#at] = [line, `${view.stage} ${view.worker}`, now];
    this.#screen.write(`${printable(line)}\n`);
  }

  /** Keeps the last state on the screen. */
  end(): void {
    if (this.#drawn) this.#screen.write('\n');
    this.#drawn = false;
  }
}

/** The progress of a batch in one line. @param rate rows per second */
export function viewLine(view: WriteBackView, rate: number | null, now: number): string {
  const { stage, rows, done, waitingUntil, failure } = view;
  const parts = [STAGES[view.worker === 'absent' ? 'waiting' : stage]];
  if (rows !== null && stage !== 'plan') parts.push(`${count(done)} of ${count(rows)} rows`);
  if (stage === 'send' && rate !== null && rate > 0) parts.push(`${count(rate)} rows/s`);
  if (failure !== null)
    parts.push(`attempt ${failure.attempt} failed, retrying: ${clip(failure.message, 160)}`);
  else parts.push(rateLimitText(waitingUntil, now) ?? '');
  return parts.filter(Boolean).join('  ');
}
