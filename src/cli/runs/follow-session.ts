import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Millis } from '../../core/brands.js';
import { DAY_MS, formatDuration } from '../../core/duration.js';
import {
  OutageTimer,
  OutOfReachError,
  REACH_TIMEOUT_MS,
  type ReachOptions,
} from '../../core/reachability.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import { type ObjectStore, openStore, StoreError } from '../../lake/store/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { SILENT_MS } from '../../temporal/follow/follow-workflow.js';
import type { AttemptFailure } from '../../temporal/status/pending-activity.js';
import type { Silence } from '../../temporal/status/silence.js';
import { workerLine } from '../progress/screen.js';
import { DetachedError, UsageError } from '../shared/choose-exit-code.js';
import { durationOption, reachTimeoutMs } from '../shared/command-options.js';
import { listenForInterrupts } from '../shared/interrupt.js';
import { output } from '../shared/output.js';

/** Time limit for a second Ctrl-C, which cancels. */
const SECOND_PRESS_MS = 3_000;

/** What a command follows, in words for its messages. */
interface FollowedWork {
  /** Such as `export` or `batch`. */
  readonly what: string;
  /** What becomes of it when the command leaves. Default: it continues. */
  readonly state?: string;
  /** How to follow it again, as a sentence: `To follow it again: worktrack export --follow …`. */
  next(workflowId: string): string;
  /** What a cancellation keeps, as a sentence; absent: nothing to add. */
  readonly kept?: string;
  /** How long the command waits; `null`: until the end. */
  readonly waitMs: Millis | null;
  /** The connection whose lake is probed while the work makes no progress; absent: none. */
  readonly connection?: ConnectionSettings;
  /** A redrawn block on the screen, which ends before other text. */
  readonly display: { end(): void };
}

/**
 * Handles Ctrl-C, the time limit and the lake while a command follows workflows. The first Ctrl-C leaves after three seconds,
 * a second one cancels the workflows instead, and a third one leaves immediately. The workflows continue when the wait ends,
 * unless they are cancelled.
 */
export function openFollowSession(temporal: TemporalClient, work: FollowedWork) {
  const { what, state = `The ${what} continues.`, kept, waitMs, connection } = work;
  const running = new Set<string>();
  const hintFor = (workflowId: string): string => `${state} ${work.next(workflowId)}`;
  const note = (text: string): void => {
    work.display.end();
    output.note(text);
  };
  const reach = { timeoutMs: reachTimeoutMs(process.env), onOutage: note };
  const store = connection === undefined ? null : watchStore(connection, reach);
  const expired = waitMs === null ? null : AbortSignal.timeout(waitMs);
  let isCancelled = false;
  let isHintShown = false;
  const counted = (): string => (running.size === 1 ? what : `${what} of ${running.size} connections`);
  const cancel = (workflowId: string): void => {
    temporal.client.workflow
      .getHandle(workflowId)
      .cancel()
      .catch((error: unknown) => note(`The ${what} could not be cancelled: ${workflowId}: ${String(error)}`));
  };
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst() {
      note(`Leaving in ${SECOND_PRESS_MS / 1000} s. Press Ctrl-C again to cancel the ${counted()}.`);
      const [only, ...others] = running;
      if (only === undefined || others.length > 0) return;
      isHintShown = true;
      note(hintFor(only));
    },
    onCancel() {
      isCancelled = true;
      const why = kept === undefined ? '' : `${kept} `;
      note(`Cancelling the ${counted()}. ${why}Press Ctrl-C again to leave without waiting.`);
      for (const id of running) cancel(id);
    },
  });
  // Aborts when the command must end: after Ctrl-C, `--timeout`, or if the lake stays unreachable.
  const signal = AbortSignal.any(
    [interrupts.detach, store?.signal, expired].filter((signal) => signal != null),
  );
  const failureOf = (error: unknown, workflowId: string): unknown => {
    const hint = hintFor(workflowId);
    if (store?.signal.aborted === true) return withHint(store.signal.reason, hint);
    if (expired?.aborted === true)
      return new DetachedError(
        `The ${what} did not end within ${formatDuration(waitMs!)}, the time limit of --timeout. ${hint}`,
      );
    if (interrupts.detach.aborted) return new DetachedError(isHintShown ? state : hint);
    if (error instanceof WorkflowNotFoundError) {
      const where = `the namespace "${temporal.namespace}" of Temporal at ${temporal.address}`;
      return new UsageError(`There is no ${what} "${workflowId}" in ${where}. Correct --follow.`);
    }
    return withHint(error, hint);
  };
  return {
    signal,
    /** Whether the user has cancelled the workflows, so that no further one may start. */
    isCancelled: () => isCancelled,
    /**
     * Waits for the end of a workflow.
     *
     * @throws the user's own departure, or the error of the wait with what to do next
     */
    async follow<T>(workflowId: string, wait: (options: ReachOptions) => Promise<T>): Promise<T> {
      running.add(workflowId);
      // Its start was under way when the others were cancelled.
      if (isCancelled) cancel(workflowId);
      try {
        return await wait({ ...reach, signal });
      } catch (error) {
        throw failureOf(error, workflowId);
      } finally {
        running.delete(workflowId);
      }
    },
    /** Probes the lake if the work makes no progress. */
    look: (parts: Attempts): void => store?.look(parts),
    /** A line on stderr, below the display. */
    note,
    close(): void {
      interrupts.release();
      store?.close();
      work.display.end();
    },
  };
}

/** Adds to an unreachable-server error how to follow the run again; the run continues without this command. */
function withHint(error: unknown, hint: string): unknown {
  if (error instanceof OutOfReachError) error.message += `\n${hint}`;
  return error;
}

/** A longer timer of Node would end immediately. */
const MAX_WAIT_MS = 24 * DAY_MS;

/** How long a command waits for the runs that it starts. */
export interface WaitOptions {
  readonly timeout?: string;
  /** `false` with `--no-wait`. */
  readonly wait?: boolean;
}

/** The time limit of the waiting; `null` without one. @throws UsageError */
export function readWait({ timeout, wait }: WaitOptions): Millis | null {
  if (timeout === undefined) return null;
  if (wait === false) throw new UsageError('--timeout and --no-wait exclude each other');
  const ms = durationOption('--timeout', timeout, '30m or 2h');
  if (ms > MAX_WAIT_MS) throw new UsageError('--timeout must be at most 24d');
  return ms;
}

/**
 * Reports after `SILENT_MS` without an answer why no worker works, and later that one polls.
 *
 * @param why the reason; `null`: a worker polls
 * @returns `answered` records that a worker has answered
 */
export function watchForWorker(
  why: () => Promise<Silence | null>,
  note: (line: string) => void,
): { answered(): void; close(): void } {
  let answeredAt = performance.now();
  let said: string | null = null;
  const look = async (): Promise<void> => {
    if (performance.now() - answeredAt < SILENT_MS - 100) return;
    // Other calls report a server that does not answer.
    const line = workerLine(await why().catch(() => null));
    if (line !== null && line !== said) note(line);
    if (line === null && said !== null) note('A worker polls now.');
    said = line;
  };
  const timer = setInterval(() => void look(), SILENT_MS);
  timer.unref();
  return {
    answered() {
      answeredAt = performance.now();
    },
    close: () => clearInterval(timer),
  };
}

const PROBE_EVERY_MS = 5_000;
/** A run without progress for this long may be waiting for the lake, whose client retries for a long time. */
const STALL_MS = 10_000;

/** The parts of the work, each with the failure of its last attempt. */
type Attempts = readonly { readonly failure: AttemptFailure | null }[];

/**
 * Probes the lake from this process while a run or a batch fails or makes no progress. The lake counts as unreachable
 * only if neither the worker nor this command can reach it; a credentials error of this command does not count.
 *
 * @returns `look` takes each new state of the work; `signal` aborts with an OutOfReachError after the time limit
 */
function watchStore({ lake, resources }: ConnectionSettings, options: ReachOptions) {
  const { timeoutMs = REACH_TIMEOUT_MS } = options;
  const unreachable = new AbortController();
  const outage = new OutageTimer(`The lake ${lake.url}`, options);
  const key = pointerKey(resources[0]?.name ?? 'none');
  const stallMs = Math.min(STALL_MS, timeoutMs / 2);
  const everyMs = Math.min(PROBE_EVERY_MS, timeoutMs / 4);
  let store: ObjectStore | null = null;
  let lastState = '';
  let changedAt = performance.now();
  let probedAt = Number.NEGATIVE_INFINITY;

  async function probe(): Promise<void> {
    store ??= openStore(lake);
    const failure = await Promise.race([
      store.head(key).then(() => null, whyUnreachable),
      delay(everyMs, 'no answer', { ref: false }),
    ]);
    if (failure === null) return outage.answered();
    try {
      outage.failed(failure);
    } catch (outOfReach) {
      unreachable.abort(outOfReach);
    }
  }

  return {
    signal: unreachable.signal,
    look(parts: Attempts) {
      const now = performance.now();
      const state = JSON.stringify(parts);
      if (state !== lastState) [lastState, changedAt] = [state, now];
      const isSuspect = parts.some((one) => one.failure !== null) || now - changedAt >= stallMs;
      if (!isSuspect) return outage.answered();
      if (now - probedAt < everyMs + 1_000) return;
      probedAt = now;
      void probe();
    },
    close: () => store?.close(),
  };
}

function whyUnreachable(error: unknown): string | null {
  return error instanceof StoreError && error.kind === 'unreachable' ? error.message : null;
}
