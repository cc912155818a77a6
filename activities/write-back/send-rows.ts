import { ApplicationFailure, Context, type Info } from '@temporalio/activity';
import { RETRY } from '../../src/core/contract/activity-table.js';
import type { SendHeartbeat, SendRowsInput, SentRows } from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { attemptToken, HEARTBEAT_MS } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { SendAttempt } from './send-attempt.js';
import { givenUpFailure } from './stop-reasons.js';
import { readLogIndex, readPlan, readTurn } from './stored-batch.js';

const MAX_CALL_MS = HOUR_MS;
/** Time that an attempt has for its last requests and logs before Temporal ends all attempts, ms. */
const RESERVE_MS = 10_000;

/**
 * Sends the rows of a plan that have no outcome yet. It reads the progress of earlier attempts from the lake and not from
 * the heartbeat, because the last heartbeats of a killed worker are lost.
 */
export async function sendRows(deps: ActivityDeps, input: SendRowsInput): Promise<SentRows> {
  const context = Context.current();
  const { cancellationSignal, info } = context;
  const connection = deps.connection(input.connection);
  const limitedSince = (info.heartbeatDetails as SendHeartbeat | undefined)?.limitedSince;
  let run: SendAttempt | null = null;
  const timer = setInterval(() => context.heartbeat(run?.progress), HEARTBEAT_MS);
  const time = new TimeLeft(info);
  const ending = setTimeout(() => run?.halt(null), Math.max(0, Math.min(time.untilReserve(), 2 ** 31 - 1)));
  try {
    const plan = await readPlan(connection.store, input.plan);
    const turn = await readTurn(connection.store, input);
    const logs = await readLogIndex(connection.store, input.plan);
    const { giveUpAfterMs } = connection.settings.retries;
    const endBefore = deps.now() + Math.min(MAX_CALL_MS, giveUpAfterMs / 2);
    run = new SendAttempt({
      ...{ deps, connection, input, plan, logs, turn, token: attemptToken(), endBefore },
      // From the last heartbeat of the attempt that this one replaces, even if the limit had ended.
      limitedSince: limitedSince === undefined ? input.limitedSince : limitedSince,
    });
    const stop = (): void => run?.halt(cancellationSignal.reason);
    if (cancellationSignal.aborted) stop();
    else cancellationSignal.addEventListener('abort', stop, { once: true });
    // While the plan and the logs were read, there was nothing to halt.
    if (time.untilReserve() <= 0) run.halt(null);
    const done = await run.sendAll();
    const { progress } = run;
    return { done, rows: progress.rows, limitedSince: progress.limitedSince };
  } catch (error) {
    throw time.isLast(error) ? givenUpFailure(error, time.leftMs) : error;
  } finally {
    clearInterval(timer);
    clearTimeout(ending);
    if (run !== null) context.heartbeat(run.progress);
    const { connection, resource } = input;
    for (const [outcome, rows] of run?.settled ?? [])
      deps.meter.record('writtenRows', rows, { connection, resource, outcome });
  }
}

/**
 * The time that Temporal gives all attempts together. It does not wait for the logs of an attempt that it ends, and without
 * them, no row of an open chunk counts as unsent. So the last attempt must end by itself.
 */
class TimeLeft {
  /** When this attempt began: milliseconds. */
  readonly leftMs: number;
  readonly #attempt: number;
  readonly #reserveMs: number;
  readonly #startedAt = performance.now();

  constructor(info: Info) {
    const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = info;
    this.leftMs = scheduleToCloseTimeoutMs - (currentAttemptScheduledTimestampMs - scheduledTimestampMs);
    this.#attempt = info.attempt;
    this.#reserveMs = Math.min(RESERVE_MS, scheduleToCloseTimeoutMs / 4);
  }

  untilReserve(): number {
    return this.leftMs - (performance.now() - this.#startedAt) - this.#reserveMs;
  }

  /** Whether the time is too short for another attempt after a failure. */
  isLast(error: unknown): error is ApplicationFailure {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable) return false;
    const backoff = Math.min(RETRY.maximumInterval, RETRY.initialInterval * 2 ** (this.#attempt - 1));
    return this.untilReserve() <= Number(error.nextRetryDelay ?? backoff);
  }
}
