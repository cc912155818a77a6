import {
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type {
  ActiveRun,
  MirrorRequest,
  MirrorState,
  MirrorStatus,
  RunAnswer,
  RunReport,
} from '../../src/core/contract/index.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { newMirror } from '../../src/core/mirror-requests.js';
import { newestId, newRunId, untilOwnSecond } from '../../src/core/run-id.js';
import { idProblem, mirrorRequestProblem } from '../../src/core/signal-checks.js';
import { limitReport } from '../../src/core/text-budget.js';
import { reportAlerts } from '../shared/alert-reports.js';
import { mirrorDetails, showDetails } from '../shared/details.js';
import { shouldContinueAsNew } from '../shared/long-lived.js';
import {
  handleChecked,
  mirrorStatus,
  requestAnswer,
  requestRun,
  runAnswered,
  sync,
  wellFormed,
  withdrawRequest,
} from '../shared/messages.js';
import { failedReport, failureDetail, mayResume, toRunError } from '../shared/run-errors.js';
import { countRun, executeRequest } from './execute-request.js';
import { type Mirror, writer } from './mirror-handle.js';
import { discardRun, sweep, untilSweep } from './mirror-sweep.js';
import {
  alertedBy,
  answerOf,
  type Batch,
  checkSync,
  enqueue,
  fullQueue,
  isDryRun,
  isFull,
  nextBatch,
  remember,
  syncRequest,
} from './request-queue.js';

/** Events of three runs without changes. */
const SHORT_HISTORY_EVENTS = 50;

/**
 * The only writer of one resource in the lake (docs/explanation/guarantees.md#one-writer). It never completes: its state,
 * which holds the checkpoint and the waiting requests, passes from each history to the next by continue-as-new.
 */
export async function resourceMirrorWorkflow(initial: MirrorState): Promise<void> {
  const mirror = new ResourceMirror(initial);
  mirror.handleMessages();
  mirror.showStatus();
  try {
    await mirror.serveBatches();
  } finally {
    await mirror.repliesSent();
  }
  await continueAsNew<typeof resourceMirrorWorkflow>(mirror.state);
}

/** A batch whose run is in progress. */
interface CurrentBatch {
  readonly batch: Batch;
  readonly scope: CancellationScope;
  /** Ids of the requests that were not withdrawn. */
  readonly wanted: Set<string>;
  /** Whether it is a dry run that ends because another request waits. */
  givesWay: boolean;
}

const GAVE_WAY =
  'gave way: another request waited for this resource. Nothing was published. Run the command again.';

/** How long the diff of a dry run stays if no command removes it, ms. */
const DIFF_LIFE_MS = HOUR_MS;

class ResourceMirror implements Mirror {
  inLake: Mirror['inLake'] = 'no';
  state: MirrorState;
  #active: ActiveRun | null = null;
  #current: CurrentBatch | null = null;
  readonly #replies: Promise<void>[] = [];
  /** Diffs of dry runs in the lake, which this execution removes. */
  #diffs = 0;

  constructor(initial: MirrorState) {
    // A state that an earlier version wrote lacks the fields that were added since. They have the value of a new mirror.
    const state = { ...newMirror(initial.connection, initial.resource), ...initial };
    this.state = { ...state, waiting: wellFormed(state.waiting, mirrorRequestProblem) };
  }

  handleMessages(): void {
    setHandler(mirrorStatus, () => this.#status());
    setHandler(requestAnswer, (requestId) => answerOf(this.state.answered, requestId)?.report ?? null);
    handleChecked(requestRun, mirrorRequestProblem, (request) => this.#acceptRequest(request));
    setHandler(
      sync,
      (input) => {
        const request = syncRequest(input, uuid4(), Date.now());
        this.#acceptRequest(request);
        return { requestId: request.requestId };
      },
      { validator: (input) => checkSync(input, this.state) },
    );
    handleChecked(withdrawRequest, idProblem, (requestId) => this.#withdrawRequest(requestId));
  }

  showStatus(): void {
    showDetails(mirrorDetails(this.#status()));
  }

  /** Serves batches of equal requests one at a time until the history is long enough to continue as new. */
  async serveBatches(): Promise<void> {
    for (;;) {
      const isAwake = (): boolean => this.state.waiting.length > 0 || this.#mustContinue();
      const sweepIn = untilSweep(this.state, Date.now());
      if (sweepIn === null) await condition(isAwake);
      else if (!(await condition(isAwake, sweepIn))) {
        // Once more an hour after a purge, because late requests may have restored the purged row.
        await sweep(this, { runId: this.state.sweepAt!.before!, replaced: [], work: 'background' });
      }
      if (this.#mustContinue()) break;
      const { published, lastRun } = this.state;
      const wait = untilOwnSecond(Date.now(), [published?.runId, lastRun?.runId]);
      if (wait > 0) {
        await sleep(wait);
        continue;
      }
      const next = nextBatch(this.state.waiting);
      // The sweep has ended, and no request waits.
      if (next === null) continue;
      this.change({ waiting: next.rest });
      await this.#serveBatch(next.batch);
    }
  }

  /** Waits for the answers and reports that are being sent, even if the workflow is cancelled. */
  async repliesSent(): Promise<void> {
    await CancellationScope.nonCancellable(() => Promise.all(this.#replies));
  }

  #status(): MirrorStatus {
    const { connection, resource, checkpoint, lastRun, waiting } = this.state;
    const { configured, learned } = this.state.pageSize ?? {};
    const pageSize = configured === undefined || learned === undefined ? null : { configured, learned };
    return {
      connection,
      resource,
      writer: writer(),
      checkpoint,
      ...shownRun(this.state.published),
      active: this.#active,
      waiting: waiting.length,
      lastRun,
      pageSize,
    };
  }

  /**
   * Whether the history is long enough to continue as new. Each run replays it on a worker with more mirrors than it caches, so
   * it is short if no request waits; the trace of one would end here.
   */
  #mustContinue(): boolean {
    if (shouldContinueAsNew()) return true;
    const isIdle = this.state.waiting.length === 0 && this.#diffs === 0;
    return isIdle && workflowInfo().historyLength >= SHORT_HISTORY_EVENTS;
  }

  #acceptRequest(request: MirrorRequest): void {
    const answer = answerOf(this.state.answered, request.requestId);
    if (answer !== undefined) this.#replies.push(reply(request.replyTo, answer));
    else if (this.#current?.batch.all.some((other) => other.requestId === request.requestId))
      this.#current.wanted.add(request.requestId);
    else if (isFull(this.state.waiting, request)) {
      this.#replies.push(reply(request.replyTo, tooMany(this.state, request)));
      return;
    } else {
      this.change({ waiting: enqueue(this.state.waiting, request) });
      this.#giveWay(request);
    }
  }

  /** Ends a dry run if another request waits. */
  #giveWay(request: MirrorRequest): void {
    const current = this.#current;
    if (current === null || !isDryRun(current.batch.first) || isDryRun(request)) return;
    current.givesWay = true;
    current.scope.cancel();
  }

  #withdrawRequest(requestId: string): void {
    this.change({ waiting: this.state.waiting.filter((request) => request.requestId !== requestId) });
    // A run is cancelled only if every request of its batch is withdrawn.
    const current = this.#current;
    if (current?.wanted.delete(requestId) && current.wanted.size === 0) current.scope.cancel();
  }

  async #serveBatch(batch: Batch): Promise<void> {
    const { first, all } = batch;
    const scope = new CancellationScope();
    const wanted = new Set(all.map((request) => request.requestId));
    const current: CurrentBatch = { batch, scope, wanted, givesWay: false };
    this.#current = current;
    const startedAt = Date.now();
    const isDry = isDryRun(first);
    const report = limitReport(
      await scope.run(() => (isDry ? this.#dryRun(first, current) : this.#runRequest(first))),
    );
    if (first.kind === 'run' && !isDry) {
      const { connection } = this.state;
      countRun(connection, report, Date.now() - startedAt);
      if (alertedBy(all, wanted) === 'mirror')
        this.#replies.push(reportAlerts({ connection, runs: [report] }));
    }
    this.setActive(null);
    // A rollback that was refused says nothing about the resource.
    if ((first.kind === 'run' && !isDry) || (first.kind === 'rollback' && report.outcome === 'published'))
      this.change({ lastRun: report });
    for (const { requestId, replyTo } of all) {
      const answer = { requestId, report };
      // A dry run can be repeated, and leaves nothing in the state.
      if (!isDry) this.change({ answered: remember(this.state.answered, answer) });
      this.#replies.push(reply(replyTo, answer));
    }
    this.#current = null;
    this.showStatus();
  }

  /**
   * Never rejects: an error becomes the report.
   *
   * @param newer an id in the lake that this mirror did not know, if the request was refused because of it
   */
  async #runRequest(request: MirrorRequest, newer: RunId | null = null): Promise<RunReport> {
    const startedAt = Date.now();
    const { published, lastRun, sweepAt } = this.state;
    const known = newestId([published?.runId, lastRun?.runId, sweepAt?.before, newer]);
    const prepared: ActiveRun = {
      runId: newRunId(startedAt, known, uuid4()),
      ...{ startedAt, phase: 'prepare', pages: 0, rows: 0, resumed: null },
      mode: request.kind === 'run' ? request.mode : request.kind === 'rollback' ? 'rollback' : 'increment',
    };
    this.setActive(prepared);
    this.inLake = 'no';
    const isDry = isDryRun(request);
    try {
      const report = await executeRequest(request, prepared, this);
      if (report.dryRun?.diff ?? report.audit?.diff)
        this.#replies.push(this.#removeStaged(prepared, DIFF_LIFE_MS));
      return report;
    } catch (error) {
      const { newerId } = failureDetail(error);
      if (newerId !== undefined && newer === null) return this.#runRequest(request, newerId);
      const failed = this.#active ?? prepared;
      // A rollback has the day when it begins.
      const nominalStart = request.kind === 'run' ? request.nominalStart : startedAt;
      if (isDry) await this.#removeStaged(failed);
      else if (request.kind !== 'purge') await this.#afterFailedRun(failed, error, nominalStart);
      return failedReport(this.state.resource, failed.runId, error);
    }
  }

  /** A run that does everything but publish. Whatever its end, nothing of it stays, apart from its diff for an hour. */
  async #dryRun(request: MirrorRequest, current: CurrentBatch): Promise<RunReport> {
    const { resource } = this.state;
    const report = await this.#runRequest(request);
    if (current.givesWay && report.outcome === 'cancelled')
      return failedReport(resource, null, ApplicationFailure.nonRetryable(GAVE_WAY, 'GaveWay'));
    return { ...report, runId: null };
  }

  /** Removes a dry run's staging folder. @param afterMs for example when the diff has been read */
  async #removeStaged({ runId, startedAt: nominalStart }: ActiveRun, afterMs = 0): Promise<void> {
    const { connection, resource } = this.state;
    if (afterMs > 0) {
      this.#diffs++;
      // A mirror that is cancelled or continues as new removes it immediately.
      await condition(() => shouldContinueAsNew(), afterMs).catch(() => {});
      this.#diffs--;
    }
    await discardRun({ connection, resource, runId, nominalStart, staging: 'removed' });
  }

  /**
   * Immediately removes what a failed run has in the lake, unless its swap may still arrive: then its folders stay until another
   * run is published, whose sweep removes them before it answers. Pages where the next run may resume stay too. A run
   * in memory has done it itself.
   */
  async #afterFailedRun(failed: ActiveRun, error: unknown, nominalStart: number): Promise<void> {
    const { inLake } = this;
    const { type } = toRunError(error);
    const own = mayResume(error, failed) ? failed.runId : null;
    // An activity that would have taken over the pages of an earlier run has taken over none.
    const resumable = inLake === 'no' ? (this.state.resumable ?? own) : own;
    // These failures show that the run's swap was not sent, or is lost.
    const isLost = type === 'Displaced' || type === 'Check';
    const staging = resumable === failed.runId ? 'kept' : 'removed';
    const isStagedOnly = (failed.phase === 'read' || failed.phase === 'settle') && staging === 'kept';
    const { connection, resource } = this.state;
    if (inLake !== 'no' && !isStagedOnly && (inLake === 'staged' || isLost))
      await discardRun({ connection, resource, runId: failed.runId, nominalStart, staging });
    // Once another mirror has published instead, this one stays displaced until it publishes again.
    this.change({ displaced: this.state.displaced || failureDetail(error).isOvertaken === true, resumable });
  }

  setActive(active: ActiveRun | null): void {
    this.#active = active;
    this.showStatus();
  }

  change(changes: Partial<MirrorState>): void {
    this.state = { ...this.state, ...changes };
  }
}

/** The published run as queries show it. */
function shownRun(state: MirrorState['published']): Pick<MirrorStatus, 'published' | 'tableWarning'> {
  if (state === null) return { published: null };
  const { tableWarning, ...published } = state;
  return { published, ...(tableWarning === null ? {} : { tableWarning }) };
}

/** The answer to a request that may not wait. Not remembered, so that the same request can be made again later. */
function tooMany(state: MirrorState, { requestId }: MirrorRequest): RunAnswer {
  return { requestId, report: failedReport(state.resource, null, new Error(fullQueue(state))) };
}

/** Signals the answer to the requester. A requester that missed it sends its request again. */
async function reply(workflowId: string | null, answer: RunAnswer): Promise<void> {
  if (workflowId === null) return;
  try {
    // A cancelled mirror still answers its requests.
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(workflowId).signal(runAnswered, answer),
    );
  } catch {
    log.info('the workflow that requested the run no longer exists', { workflowId });
  }
}
