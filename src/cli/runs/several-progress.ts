import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { formatDuration } from '../../core/duration.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import type { Ended } from '../shared/each-connection.js';
import { listenForInterrupts } from '../shared/interrupt.js';
import { output } from '../shared/output.js';
import { count, counted } from '../shared/text.js';
import { SECOND_PRESS_MS } from './follow.js';
import { watchForWorker } from './missing-worker.js';

/** Runs of several connections for which a command waits. */
export interface SeveralRuns {
  /** Whether the user has cancelled the runs, so that no further one may start. */
  isCancelled(): boolean;
  /** Aborts when the command must end: after Ctrl-C or `--timeout`. The runs continue. */
  readonly signal: AbortSignal;
  started(workflowId: string): void;
  readonly ended: (ended: Ended<{ readonly workflowId: string }>) => void;
  close(): void;
}

interface SeveralRunsOptions {
  readonly what: string;
  readonly total: number;
  readonly taskQueue?: string;
  /** Milliseconds; `null`: without a limit. */
  readonly wait: number | null;
}

const LINE_EVERY_MS = 5_000;

/** Prints progress on stderr, reports a missing worker, and handles Ctrl-C and the time limit. */
export function openSeveralRuns(
  temporal: TemporalClient,
  { what, total, taskQueue = DEFAULT_TASK_QUEUE, wait }: SeveralRunsOptions,
): SeveralRuns {
  const running = new Set<string>();
  const isTerminal = process.stderr.isTTY === true;
  let [done, problems, printedAt] = [0, 0, performance.now()];

  const show = (): void => {
    const text = progressText(done, total, problems);
    if (isTerminal) process.stderr.write(`\r\x1b[K${text}`);
    else if (performance.now() - printedAt >= LINE_EVERY_MS) {
      printedAt = performance.now();
      output.note(text);
    }
  };
  const note = (text: string): void => {
    if (isTerminal) process.stderr.write('\r\x1b[K');
    output.note(text);
  };
  let cancelled = false;
  const cancel = (id: string): void =>
    void temporal.client.workflow
      .getHandle(id)
      .cancel()
      .catch((error: unknown) => note(`${id} could not be cancelled: ${String(error)}`));
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst: () =>
      note(
        `Leaving in ${SECOND_PRESS_MS / 1000} s. Press Ctrl-C again to cancel the ${what} of ${running.size} connections.`,
      ),
    onCancel() {
      cancelled = true;
      note(`Cancelling ${running.size} runs. Press Ctrl-C again to leave without waiting.`);
      for (const id of running) cancel(id);
    },
  });
  const expired = new AbortController();
  const limit =
    wait === null
      ? undefined
      : setTimeout(() => {
          note(`The time limit of ${formatDuration(wait)} has passed. Runs in progress continue.`);
          expired.abort();
        }, wait);
  const worker = watchForWorker(temporal, taskQueue, note);
  return {
    signal: AbortSignal.any([interrupts.detach, expired.signal]),
    isCancelled: () => cancelled,
    started(id) {
      running.add(id);
      // Its start was under way when the others were cancelled.
      if (cancelled) cancel(id);
    },
    ended({ result, failure }) {
      done++;
      if (failure !== null) problems++;
      if (result !== null) running.delete(result.workflowId);
      worker.answered();
      show();
    },
    close() {
      clearTimeout(limit);
      worker.close();
      interrupts.release();
      if (isTerminal && done > 0) process.stderr.write('\r\x1b[K');
      done = 0;
    },
  };
}

/** `37 of 300 connections, 2 with problems`. */
export function progressText(done: number, total: number, problems: number): string {
  const text = `${count(done)} of ${counted(total, 'connection')}`;
  return problems === 0 ? text : `${text}, ${count(problems)} with problems`;
}
