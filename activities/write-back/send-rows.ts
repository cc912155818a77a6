import { Context } from '@temporalio/activity';
import type { SendHeartbeat, SendRowsInput, SentRows } from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { attemptToken, HEARTBEAT_MS } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { SendAttempt } from './send-attempt.js';
import { readLogIndex, readPlan, readTurn } from './stored-batch.js';

const MAX_CALL_MS = HOUR_MS;

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
    const done = await run.sendAll();
    const { progress } = run;
    return { done, rows: progress.rows, limitedSince: progress.limitedSince };
  } finally {
    clearInterval(timer);
    if (run !== null) context.heartbeat(run.progress);
    const { connection, resource } = input;
    for (const [outcome, rows] of run?.settled ?? [])
      deps.meter.record('writtenRows', rows, { connection, resource, outcome });
  }
}
