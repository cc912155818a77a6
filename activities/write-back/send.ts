import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract.js';
import type { SendHeartbeat } from '../../src/core/write-back-contract.js';
import type { PlanFile } from '../../src/write-back/index.js';
import type { ActivityDeps } from '../deps.js';
import { readDocument } from '../documents.js';
import { readLogIndex } from './logs.js';
import { SendRun } from './send-run.js';

const HEARTBEAT_MS = 1000;
const LONGEST_CALL_MS = 60 * 60_000;

/**
 * Sends the rows of a plan that have no outcome yet, many an attempt. What was done before is looked up in the lake and
 * not taken from the heartbeat, for a killed worker takes its last heartbeats with it.
 */
export function createSendRows(deps: ActivityDeps): Activities['worktrack.sendRows'] {
  return async (input) => {
    const context = Context.current();
    const { cancellationSignal, info } = context;
    const connection = deps.connection(input.connection);
    const beat = (run: SendRun | null): void => {
      if (run === null) return;
      context.heartbeat({ rows: run.rows, waitingUntil: run.waitingUntil } satisfies SendHeartbeat);
    };
    let run: SendRun | null = null;
    const timer = setInterval(() => (run === null ? context.heartbeat() : beat(run)), HEARTBEAT_MS);
    try {
      const plan = await readDocument<PlanFile>(connection.store, input.plan);
      const logs = await readLogIndex(connection.store, input.plan);
      const token = `${info.workflowExecution?.runId.slice(0, 8)}-${info.activityId}-${info.attempt}`;
      const { giveUpAfterMs } = connection.settings.retries;
      const endBefore = deps.now() + Math.min(LONGEST_CALL_MS, giveUpAfterMs / 2);
      run = new SendRun({ deps, connection, input, plan, logs, token, endBefore });
      const stop = (): void => run?.halt(cancellationSignal.reason);
      if (cancellationSignal.aborted) stop();
      else cancellationSignal.addEventListener('abort', stop, { once: true });
      const done = await run.run();
      return { done, rows: run.rows };
    } finally {
      clearInterval(timer);
      beat(run);
    }
  };
}
