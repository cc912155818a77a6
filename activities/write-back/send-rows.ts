import { Context } from '@temporalio/activity';
import { RETRY } from '../../src/core/contract/activity-table.js';
import type { SendHeartbeat, SendRowsInput, SentRows } from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { attemptToken, HEARTBEAT_MS, temporalClock } from '../../src/run/activity-context.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { finalFailure, toFailure } from '../../src/run/failures.js';
import { finalIfLate } from '../../src/run/run-failures.js';
import { readBatch } from '../../src/write-back/batch-file.js';
import { readLogIndex } from '../../src/write-back/chunk-logs.js';
import { sendingOf } from '../../src/write-back/plan-file.js';
import { openBatchKeys } from './batch-organization.js';
import { SendAttempt } from './send-attempt.js';
import { SendClock, temporalStartClock } from './send-clock.js';
import { checkSystem, hasAcceptedRow, readPlan, readTurn } from './stored-batch.js';

const MAX_CALL_MS = HOUR_MS;
/** Attempts that a call has even if its time has ended: perhaps everything stood still. */
const MIN_ATTEMPTS = 3;

/**
 * Sends the rows of a plan that have no outcome yet. It reads the progress of earlier attempts from the lake and not from
 * the heartbeat, because the last heartbeats of a killed worker are lost. It gives up by itself: Temporal does not wait for
 * the logs of an attempt that it ends, and without them, no row of an open chunk counts as unsent.
 */
export async function sendRows(deps: ActivityDeps, input: SendRowsInput): Promise<SentRows> {
  const context = Context.current();
  const clock = temporalClock();
  const { cancellationSignal, info } = context;
  const connection = deps.connection(input.connection);
  const { giveUpAfterMs } = connection.settings.retries;
  // Of the attempt that this one replaces.
  const beat = info.heartbeatDetails as SendHeartbeat | undefined;
  let run: SendAttempt | null = null;
  const timer = setInterval(() => context.heartbeat(run?.progress ?? beat), HEARTBEAT_MS);
  try {
    // `finalIfLate` would have ended a failed attempt, so a worker was lost. This one's wait for a worker does not count.
    const ageMs = info.currentAttemptScheduledTimestampMs - info.scheduledTimestampMs;
    if (info.attempt > MIN_ATTEMPTS && ageMs > giveUpAfterMs + RETRY.maximumInterval)
      throw finalFailure(
        'Transient',
        `gave up: ${input.resource}: workers that sent rows were lost again and again. See their logs for the cause, and run the same command again.`,
      );
    const plan = await readPlan(connection.store, input.plan);
    checkSystem(plan, { resource: input.resource, deps, settings: connection.settings });
    const begun = await readBatch(connection.store, input.batchId);
    const sending = sendingOf(begun?.file, connection.settings.writeBack, input.resource);
    const turn = await readTurn(connection.store, input);
    const logs = await readLogIndex(connection.store, input.plan);
    const sendClock = new SendClock(deps, connection.store, await temporalStartClock());
    const keys = await openBatchKeys({
      ...{ connection, input, logs, batch: begun?.file ?? null },
      path: connection.settings.resources.find(({ name }) => name === input.resource)?.path ?? sending.path,
      flush: async () => run?.flush(),
    });
    const endBefore = deps.now() + Math.min(MAX_CALL_MS, giveUpAfterMs / 2);
    run = new SendAttempt({
      ...{ deps, input, plan, sending, logs, turn },
      connection: { settings: connection.settings, store: connection.store, client: keys.client },
      ...{ token: attemptToken(), clock: sendClock, endBefore },
      // Even if the limit had ended.
      limitedSince: beat === undefined ? input.limitedSince : beat.limitedSince,
      fruitless: beat?.fruitless ?? 0,
      hasAccepted: await hasAcceptedRow(connection.store, logs),
    });
    const stop = (): void => run?.halt(cancellationSignal.reason);
    if (cancellationSignal.aborted) stop();
    else cancellationSignal.addEventListener('abort', stop, { once: true });
    const done = await run.sendAll();
    const { progress } = run;
    return { done, rows: progress.rows, limitedSince: progress.limitedSince };
  } catch (error) {
    throw finalIfLate(toFailure(error), clock() - info.scheduledTimestampMs, () => giveUpAfterMs);
  } finally {
    clearInterval(timer);
    if (run !== null) context.heartbeat(run.progress);
    const { connection, resource } = input;
    for (const [outcome, rows] of run?.settled ?? [])
      deps.meter.record('writtenRows', rows, { connection, resource, outcome });
  }
}
