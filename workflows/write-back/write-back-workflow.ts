import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ObjectKey } from '../../src/core/brands.js';
import type { RunError, RunRecord } from '../../src/core/contract/index.js';
import {
  type BatchRef,
  type ConfirmInput,
  confirmWorkflowId,
  noRows,
  type ReadFirst,
  shownBatchId,
  type WriteBackInput,
  type WriteBackOutcome,
  type WriteBackPlanned,
  type WriteBackResult,
  type WriteBackStage,
  type WrittenResults,
} from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { type IncrementProblem, type StoredWarning, warningText } from '../../src/core/warnings.js';
import { MirrorRequester } from '../export/mirror-requester.js';
import { activity } from '../shared/activity-options.js';
import { reportAlerts } from '../shared/alert-reports.js';
import { ensureStarted, shouldContinueAsNew, signalOrStart } from '../shared/long-lived.js';
import { rowsWritten, writeBackProgress } from '../shared/messages.js';
import { toOutcome, toRunError } from '../shared/run-errors.js';
import { confirmWriteBackWorkflow } from './confirm-workflow.js';
import { WriteBackLock } from './lock.js';

/**
 * Writes the rows of one batch to the service, each exactly once, with a receipt for each in `results.csv`
 * (docs/reference/commands.md). Start it with the id from `writeBackWorkflowId`, so that a batch has one workflow, and with an
 * input that `stageWriteBack` put into the lake. A second start sends the rows that have no outcome yet.
 *
 * @returns `written` or `incomplete`; throws ApplicationFailure `WriteBackFailed` with the result in its details if a
 *   failure stopped the batch, and CancelledFailure if the batch was cancelled. Receipts are written in each case.
 * @example
 * const workflowId = writeBackWorkflowId(input);
 * const { counts } = await executeChild(writeBackWorkflow, { workflowId, args: [input] });
 */
export async function writeBackWorkflow(input: WriteBackInput): Promise<WriteBackResult> {
  const batch = new WriteBackBatch(input);
  const { connection, resource, batchId } = input;
  // In a later history, the batch has long started.
  if (input.resume === undefined) log.info('write-back started', { connection, resource, batchId });
  setHandler(writeBackProgress, () => batch.progress());
  try {
    const written = await batch.write();
    await batch.report(written);
    return written;
  } catch (error) {
    // The batch is not over: it continues in a new history.
    if (error instanceof ContinueAsNew) throw error;
    const failed = await batch.fail(error);
    if (isCancellation(error)) throw error;
    await batch.report(failed);
    throw ApplicationFailure.create({
      type: 'WriteBackFailed',
      nonRetryable: true,
      message: failed.error!.message,
      details: [failed],
    });
  }
}

/** How long a batch that has failed waits for its read-back: what has stopped it may stop the mirror, too, for hours. */
const MAX_READ_BACK_MS = 10 * MINUTE_MS;

class WriteBackBatch {
  readonly #input: WriteBackInput;
  readonly #ref: BatchRef;
  readonly #requester: MirrorRequester;
  readonly #lock: WriteBackLock;
  #stage: WriteBackStage = 'plan';
  #planned: WriteBackPlanned | null;
  /** What the look-up found when the turn of the batch came; `null` before that, and for upserts. */
  #turn: ObjectKey | null;
  /** The receipts of a batch that an error has stopped. */
  #stopped: WrittenResults | null = null;
  /** All histories of a run have the same first execution. */
  readonly #run = workflowInfo().firstExecutionRunId;
  #limitedSince: number | null;
  /** Rows with an outcome. */
  #done = 0;
  #result: WriteBackResult | null = null;
  /** The increments that were read for the batch. */
  readonly #increments: RunRecord[];
  readonly #warnings: StoredWarning[];

  constructor(input: WriteBackInput) {
    const { connection, resource, batchId } = input;
    this.#input = input;
    this.#ref = { connection, resource, batchId };
    this.#requester = new MirrorRequester(connection);
    this.#lock = new WriteBackLock(connection, resource);
    this.#planned = input.resume?.planned ?? null;
    this.#turn = input.resume?.turn ?? null;
    this.#limitedSince = input.resume?.limitedSince ?? null;
    this.#increments = [...(input.resume?.increments ?? [])];
    this.#warnings = [...(input.resume?.warnings ?? [])];
  }

  progress() {
    const { batchId, resource } = this.#ref;
    const rows = this.#planned?.rows ?? null;
    return { batchId, resource, stage: this.#stage, rows, done: this.#done, result: this.#result };
  }

  /** Plans the batch, sends its rows, writes the receipts, and lets the mirror read the written rows. */
  async write(): Promise<WriteBackResult> {
    this.#planned ??= await this.#plan();
    const planned = this.#planned;
    // An earlier run of the batch has already sent every row.
    if (planned.results !== null) return this.#conclude(outcomeOf(planned.results), planned.results);
    const written = await this.#writeRows(planned);
    await this.#lookFor(planned, written);
    return this.#conclude(outcomeOf(written), written);
  }

  /** Lets the mirror read the rows, and then looks for those that were written. @param waitMs as for `#increment` */
  async #lookFor(planned: WriteBackPlanned, { counts }: WrittenResults, waitMs?: number): Promise<void> {
    if (this.#input.readBack === false) return;
    const isRead = planned.mirrored ? await this.#readBack(planned, waitMs) : false;
    if (counts.created + counts.updated > 0) await this.#startConfirming(planned, isRead);
  }

  /** Reports the batch, and the run that read the written rows, for alerts. */
  async report({ batchId, counts, unsent, differs, error }: WriteBackResult): Promise<void> {
    if (this.#planned?.alerts === false) return;
    const { connection, resource } = this.#ref;
    const { rejected, unknown } = counts;
    const runs = this.#increments;
    const writeBack = { resource, batchId, rejected, unknown, unsent, differs, error };
    await reportAlerts({ connection, runs, writeBack });
  }

  /** Ends a batch that an error has stopped. What it has written is read back, too, unless someone has cancelled it. */
  async fail(error: unknown): Promise<WriteBackResult> {
    const planned = this.#planned;
    const stopped = this.#stopped;
    const hasWritten = stopped !== null && stopped.counts.created + stopped.counts.updated > 0;
    if (planned !== null && hasWritten && !isCancellation(error))
      await this.#lookFor(planned, stopped, MAX_READ_BACK_MS);
    return this.#conclude(toOutcome(error), this.#stopped, { error: toRunError(error) });
  }

  /**
   * Looks the rows up, sends them, and writes the receipts, while the batch holds the lock of its resource. So the next batch
   * finds the outcomes of this one.
   */
  async #writeRows({ plan }: WriteBackPlanned): Promise<WrittenResults> {
    const { connection, unknown = 'report', keyColumn, written, system, sameOrganization } = this.#input;
    const send = activity('worktrack.sendRows', connection, 'manual', {
      // The receipts of a cancelled batch are written after its last response has arrived.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    });
    this.#stage = 'wait';
    let keepsLock = false;
    try {
      await this.#lock.acquire();
      this.#stage = 'send';
      // To repeat an upsert does no harm.
      if (this.#ref.resource === 'time-entries') {
        const claim = activity('worktrack.claimRows', connection, 'manual');
        this.#turn ??= await claim({ ...this.#ref, plan, keyColumn, unknown, written, system });
      }
      const turn = this.#turn;
      for (let isSent = false; !isSent; ) {
        const state = { plan, turn, run: this.#run, limitedSince: this.#limitedSince };
        const sent = await send({ ...this.#ref, ...state, unknown, sameOrganization });
        this.#done = sent.rows;
        this.#limitedSince = sent.limitedSince;
        isSent = sent.done;
        // A cancellation that came too late for this call ends the next one.
        if (isSent || CancellationScope.current().consideredCancelled || !shouldContinueAsNew()) continue;
        // The batch keeps the lock: its next history has the same token.
        keepsLock = true;
        const read = { increments: this.#increments, warnings: this.#warnings };
        await continueAsNew<typeof writeBackWorkflow>({
          ...this.#input,
          resume: { planned: this.#planned!, turn, limitedSince: this.#limitedSince, ...read },
        });
      }
      return await this.#writeResults(plan);
    } catch (error) {
      // Also in a cancelled workflow; `null` if they cannot be written.
      const results = (): Promise<WrittenResults> => this.#writeResults(plan);
      if (!keepsLock) this.#stopped = await CancellationScope.nonCancellable(results).catch(() => null);
      throw error;
    } finally {
      if (!keepsLock) await this.#lock.release();
    }
  }

  /** Plans the batch. Rows that are compared with the lake are planned after an increment, while no other batch writes. */
  async #plan(): Promise<WriteBackPlanned> {
    const plan = activity('worktrack.planWriteBack', this.#input.connection, 'manual');
    const found = await plan(this.#input);
    if (!isReadFirst(found)) return found;
    this.#stage = 'wait';
    try {
      await this.#lock.acquire();
      this.#stage = 'read-before';
      const problem = await this.#increment('read-before', found.giveUpAfterMs, found.waitMs);
      if (problem !== null) this.#warnings.push({ kind: this.#notRead(found), ...problem });
      this.#stage = 'plan';
      const planned = await plan({ ...this.#input, increment: problem === null ? 'published' : 'failed' });
      if (!isReadFirst(planned)) return planned;
      throw ApplicationFailure.nonRetryable('the plan of the batch asks for a second increment', 'Internal');
    } catch (error) {
      await this.#lock.release();
      throw error;
    }
  }

  /** What it means if the increment before the rows fails. */
  #notRead({ waitMs }: ReadFirst): 'undo-not-sent' | 'rows-not-compared' | 'batch-not-undoable' {
    if (this.#input.expected !== undefined) return 'undo-not-sent';
    return waitMs === undefined ? 'rows-not-compared' : 'batch-not-undoable';
  }

  /** Requests an increment, so that the written rows reach the lake. A failure is a warning, and does not fail the batch. @returns whether they do */
  async #readBack({ giveUpAfterMs }: WriteBackPlanned, waitMs?: number): Promise<boolean> {
    this.#stage = 'read-back';
    const problem = await this.#increment('read-back', giveUpAfterMs, waitMs);
    if (problem !== null)
      this.#warnings.push({ kind: 'rows-not-in-lake', resource: this.#ref.resource, ...problem });
    return problem === null;
  }

  /** Starts the workflow that looks for the written rows. It continues after the end of the batch. */
  async #startConfirming({ confirm }: WriteBackPlanned, isRead: boolean): Promise<void> {
    if (confirm === undefined) return;
    const { connection, resource, batchId } = this.#ref;
    const args: [ConfirmInput] = [{ ...this.#ref, ...confirm, ...(isRead ? {} : { readFirst: true }) }];
    const confirming = {
      ...{ workflow: confirmWriteBackWorkflow, workflowId: confirmWorkflowId(this.#ref), args },
      staticSummary: `Confirmation of ${resource} (${connection}), batch ${shownBatchId(batchId)}`,
      memo: { connection, resource, batchId },
    };
    try {
      // One that an earlier run of the batch has started looks for the rows of this run, too.
      if (!(await ensureStarted(confirming))) await signalOrStart(confirming, rowsWritten, batchId);
    } catch (error) {
      const message = isCancellation(error) ? null : toRunError(error).message;
      this.#warnings.push({ kind: 'rows-not-looked-for', message });
    }
  }

  /** Lets the mirror read an increment. @param waitMs default: no limit @returns why it failed; `null`: it did not */
  async #increment(
    name: 'read-before' | 'read-back',
    giveUpAfterMs: number,
    waitMs?: number,
  ): Promise<IncrementProblem | null> {
    const request = () => {
      const spec = runSpec(Date.now(), { alertedBy: 'sender' });
      return this.#requester.request(this.#ref.resource, spec, name, giveUpAfterMs);
    };
    try {
      const report = await (waitMs === undefined
        ? request()
        : CancellationScope.withTimeout(waitMs, request));
      this.#increments.push(report);
      if (report.outcome === 'published') return null;
      return { outcome: report.outcome, message: report.error?.message ?? null };
    } catch (error) {
      await this.#requester.withdrawAll();
      const isLate = waitMs !== undefined && !CancellationScope.current().consideredCancelled;
      // A batch that is cancelled before it writes sends nothing.
      if (isCancellation(error) && name === 'read-before' && !isLate) throw error;
      if (!isCancellation(error)) return { outcome: 'unanswered', message: toRunError(error).message };
      return isLate ? { outcome: 'late', message: null, waitMs } : { outcome: 'cancelled', message: null };
    }
  }

  #writeResults(plan: ObjectKey): Promise<WrittenResults> {
    this.#stage = 'results';
    const write = activity('worktrack.writeResults', this.#ref.connection, 'manual');
    return write({ ...this.#ref, plan, turn: this.#turn, run: this.#run });
  }

  #conclude(
    outcome: WriteBackOutcome,
    written: WrittenResults | null,
    { error = null }: { error?: RunError | null } = {},
  ): WriteBackResult {
    this.#stage = 'done';
    const rows = this.#planned?.rows ?? 0;
    const { counts, results, unsent, refusals, ...compared } = written ?? {
      ...{ counts: noRows(), results: null, unsent: rows, refusals: null },
    };
    const { differs = [], absent = [], differences = null, ofOthers = 0 }: Partial<WrittenResults> = compared;
    this.#done = rows - unsent;
    const { batchId, resource } = this.#ref;
    const { sameId = 0 } = written ?? {};
    const shared = sameId === 0 ? [] : [{ kind: 'same-id', resource, rows: sameId } as const];
    const warnings = [...this.#warnings, ...shared].map(warningText);
    this.#result = {
      ...{ batchId, outcome, counts, results, rows, unsent, refusals },
      ...(ofOthers > 0 && { ofOthers }),
      ...{ differs, absent, differences, warnings, error },
    };
    const ended = { ...this.#ref, outcome, rows, ...counts, unsent };
    if (error === null) log.info('write-back ended', ended);
    else log.warn('write-back ended', { ...ended, errorType: error.type, error: error.message });
    return this.#result;
  }
}

function isReadFirst(found: WriteBackPlanned | ReadFirst): found is ReadFirst {
  return 'readFirst' in found;
}

function outcomeOf({ counts, unsent }: WrittenResults): WriteBackOutcome {
  return counts.rejected + counts.unknown + unsent > 0 ? 'incomplete' : 'written';
}
