import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract/index.js';
import type { SendHeartbeat } from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { attemptToken, HEARTBEAT_MS } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { SendAttempt } from './send-attempt.js';
import { hasAcceptedRow, readLogIndex, readPlan, readTurn } from './stored-batch.js';

const MAX_CALL_MS = HOUR_MS;

/**
 * Sends the rows of a plan that have no outcome yet. It reads the progress of earlier attempts from the lake and not from
 * the heartbeat, because the last heartbeats of a killed worker are lost.
 */
export function createSendRows(deps: ActivityDeps): Activities['worktrack.sendRows'] {
  return async (input) => {
    const context = Context.current();
    const { cancellationSignal, info } = context;
    const connection = deps.connection(input.connection);
    const beat = (run: SendAttempt | null): void => {
      if (run === null) return;
      const { rows, waitingUntil, limitedSince } = run;
      context.heartbeat({ rows, waitingUntil, limitedSince } satisfies SendHeartbeat);
    };
    let run: SendAttempt | null = null;
    const timer = setInterval(() => (run === null ? context.heartbeat() : beat(run)), HEARTBEAT_MS);
    try {
      const plan = await readPlan(connection.store, input.plan);
      const turn = await readTurn(connection.store, input);
      const logs = await readLogIndex(connection.store, input.plan);
      const { giveUpAfterMs } = connection.settings.retries;
      const endBefore = deps.now() + Math.min(MAX_CALL_MS, giveUpAfterMs / 2);
      const { store } = connection;
      run = new SendAttempt({
        ...{ deps, connection, input, plan, logs, turn, token: attemptToken(), endBefore },
        limitedSince: limitedBefore(info.heartbeatDetails, input.limitedSince),
        acceptedBefore: () => hasAcceptedRow(store, logs, input.run),
      });
      const stop = (): void => run?.halt(cancellationSignal.reason);
      if (cancellationSignal.aborted) stop();
      else cancellationSignal.addEventListener('abort', stop, { once: true });
      const done = await run.sendAll();
      return { done, rows: run.rows, limitedSince: run.limitedSince };
    } finally {
      clearInterval(timer);
      beat(run);
      const { connection, resource } = input;
      for (const [outcome, rows] of run?.settled ?? [])
        deps.meter.record('writtenRows', rows, { connection, resource, outcome });
    }
  };
}

/** From the last heartbeat of the attempt that this one replaces, even if the limit had ended. @param given without one */
function limitedBefore(heartbeat: unknown, given: number | null): number | null {
  const last = (heartbeat as SendHeartbeat | undefined)?.limitedSince;
  return last === undefined ? given : last;
}
