import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, RunError } from '../src/core/contract.js';
import {
  noRows,
  type WriteBackInput,
  type WriteBackOutcome,
  type WriteBackPlanned,
  type WriteBackResult,
  type WriteBackStage,
  type WrittenResults,
} from '../src/core/write-back-contract.js';
import { Asking } from './asking.js';
import { toOutcome, toRunError } from './failures.js';
import { LaneTurn } from './lane-turn.js';
import { writeBackProgress } from './write-back-messages.js';

const HEARTBEAT_TIMEOUT = '10 seconds';
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;
const EVENTS_BEFORE_CONTINUING = 1000;

/** Work on the lake takes as long as it takes, under its heartbeat; it is attempts that give up. */
const work = proxyActivities<Activities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { ...RETRY, maximumAttempts: 360 },
});

/**
 * Writes the rows of one batch to the service, each exactly once, with a receipt for each in `results.csv`
 * (DESIGN 5). Start it under `writeBackWorkflowId`, so that a batch has one workflow, and with an input that
 * `stageWriteBack` put into the lake. Started again, it sends what has no outcome yet, and reports.
 *
 * @returns `written` or `incomplete`; throws ApplicationFailure `WriteBackFailed` with the result in its details for a
 *   batch that was stopped by a failure, and CancelledFailure for one that was cancelled. Receipts are there in any case.
 */
export async function writeBackWorkflow(input: WriteBackInput): Promise<WriteBackResult> {
  const { connection, resource, batchId, unknown = 'report', readBack = true } = input;
  const ref = { connection, resource, batchId };
  const asking = new Asking(connection);
  const lane = new LaneTurn(connection, resource);
  let stage: WriteBackStage = 'plan';
  let planned: WriteBackPlanned | null = input.resume?.planned ?? null;
  let done = 0;
  let result: WriteBackResult | null = null;
  setHandler(writeBackProgress, () => {
    return { batchId, resource, stage, rows: planned?.rows ?? null, done, result };
  });

  try {
    planned ??= await work['worktrack.planWriteBack']({
      ...ref,
      input: input.input,
      format: input.format,
      keyColumn: input.keyColumn,
    });
    const reported = planned.results;
    const written = reported ?? (await writeRows(planned));
    const warnings = reported === null && readBack && planned.mirrored ? await askMirror(planned) : [];
    return concluded(outcomeOf(written), { written, warnings, error: null });
  } catch (error) {
    // It is the batch going on, not its end.
    if (error instanceof ContinueAsNew) throw error;
    const written = await receipts(planned);
    const failed = concluded(toOutcome(error), { written, warnings: [], error: toRunError(error) });
    if (isCancellation(error)) throw error;
    throw ApplicationFailure.create({
      type: 'WriteBackFailed',
      nonRetryable: true,
      message: failed.error!.message,
      details: [failed],
    });
  }

  /** Sends what is to be sent, when it is this batch's turn. */
  async function writeRows(plan: WriteBackPlanned): Promise<WrittenResults> {
    const send = proxyActivities<Activities>({
      startToCloseTimeout: plan.giveUpAfterMs,
      scheduleToCloseTimeout: plan.giveUpAfterMs,
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      // The receipts of a cancelled batch are written when its last answer is in.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: RETRY,
    });
    stage = 'wait';
    let mine = true;
    try {
      await lane.take();
      stage = 'send';
      for (let sent = false; !sent; ) {
        const answer = await send['worktrack.sendRows']({ ...ref, plan: plan.plan, unknown });
        done = answer.rows;
        sent = answer.done;
        if (sent || !mustContinue()) continue;
        // The turn stays this batch's: the run that goes on has the same token.
        mine = false;
        await continueAsNew<typeof writeBackWorkflow>({ ...input, resume: { planned: plan } });
      }
    } finally {
      if (mine) await lane.leave();
    }
    stage = 'results';
    return work['worktrack.writeResults']({ ...ref, plan: plan.plan });
  }

  /** Brings what was written into the lake. A failure here is no failure of the batch. */
  async function askMirror(plan: WriteBackPlanned): Promise<string[]> {
    stage = 'read-back';
    const again = `run \`worktrack export --resource ${resource}\``;
    const wish = {
      kind: 'run',
      mode: 'increment',
      reconcile: false,
      adopt: false,
      allowDeletes: false,
      since: null,
      nominalStart: Date.now(),
    } as const;
    try {
      const { outcome, error } = await asking.ask(resource, wish, 'read-back', plan.giveUpAfterMs);
      if (outcome === 'published') return [];
      const why = error === null ? '' : `: ${error.message}`;
      return [`what was written is not in the lake yet, for its read-back was ${outcome}${why}; ${again}`];
    } catch (error) {
      await asking.withdrawAll();
      const why = isCancellation(error) ? 'was cancelled' : `failed: ${toRunError(error).message}`;
      return [`what was written is not in the lake yet, for its read-back ${why}; ${again}`];
    }
  }

  /** What a batch that was stopped has come to. */
  async function receipts(plan: WriteBackPlanned | null): Promise<WrittenResults | null> {
    if (plan === null) return null;
    stage = 'results';
    try {
      return await CancellationScope.nonCancellable(() =>
        work['worktrack.writeResults']({ ...ref, plan: plan.plan }),
      );
    } catch {
      return null;
    }
  }

  function concluded(
    outcome: WriteBackOutcome,
    {
      written,
      warnings,
      error,
    }: { written: WrittenResults | null; warnings: readonly string[]; error: RunError | null },
  ): WriteBackResult {
    stage = 'done';
    const rows = planned?.rows ?? 0;
    const { counts, results, unsent } = written ?? { counts: noRows(), results: null, unsent: rows };
    done = rows - unsent;
    result = { batchId, outcome, counts, results, rows, unsent, warnings, error };
    return result;
  }
}

function outcomeOf({ counts, unsent }: WrittenResults): WriteBackOutcome {
  return counts.rejected + counts.unknown + unsent > 0 ? 'incomplete' : 'written';
}

function mustContinue(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= EVENTS_BEFORE_CONTINUING;
}
