import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActiveRun, MirrorState, RunAnswer, RunReport, RunRequest } from '../src/core/contract.js';
import { toOutcome, toRunError } from './failures.js';
import { mirrorStatus, requestRun, runAnswered, withdrawRequest } from './messages.js';
import { answerOf, type Batch, enqueue, nextBatch, remember } from './queue.js';
import { cleanUp, newRunId, runOnce } from './run.js';

/** Far below the server's own suggestion: a history stays small enough to be read and replayed in no time. */
const EVENTS_BEFORE_CONTINUING = 1000;

/**
 * The only writer of one resource in the lake, for ever (DESIGN 2). Requests queue up and run one at a time; the
 * checkpoint is its state, carried from one continue-as-new to the next.
 */
export async function resourceMirrorWorkflow(initial: MirrorState): Promise<void> {
  let state = initial;
  let active: ActiveRun | null = null;
  let current: { batch: Batch; scope: CancellationScope; wanted: Set<string> } | null = null;
  const replies: Promise<void>[] = [];

  setHandler(mirrorStatus, () => {
    const { connection, resource, checkpoint, published, lastRun, waiting } = state;
    return { connection, resource, checkpoint, published, active, waiting: waiting.length, lastRun };
  });
  setHandler(requestRun, (request) => {
    const answer = answerOf(state.answered, request.requestId);
    if (answer !== undefined) replies.push(reply(request.replyTo, answer));
    else if (current?.batch.all.some((other) => other.requestId === request.requestId))
      current.wanted.add(request.requestId);
    else state = { ...state, waiting: enqueue(state.waiting, request) };
  });
  setHandler(withdrawRequest, (requestId) => {
    state = { ...state, waiting: state.waiting.filter((request) => request.requestId !== requestId) };
    // A run stops only when nobody else waits for it.
    if (current?.wanted.delete(requestId) && current.wanted.size === 0) current.scope.cancel();
  });

  try {
    await serve();
  } finally {
    await CancellationScope.nonCancellable(() => Promise.all(replies));
  }
  await continueAsNew<typeof resourceMirrorWorkflow>(state);

  /** Runs one batch of requests after the other, until the history has grown enough. */
  async function serve(): Promise<void> {
    for (;;) {
      await condition(() => state.waiting.length > 0 || mustContinue());
      const next = mustContinue() ? null : nextBatch(state.waiting);
      if (next === null) break;
      state = { ...state, waiting: next.rest };
      const startedAt = Date.now();
      active = {
        runId: newRunId(startedAt, state.published?.runId ?? null),
        startedAt,
        phase: 'begin',
        mode: next.batch.first.mode,
        pages: 0,
        rows: 0,
      };
      const scope = new CancellationScope();
      current = {
        batch: next.batch,
        scope,
        wanted: new Set(next.batch.all.map((request) => request.requestId)),
      };
      const report = await scope
        .run(() => attempt(next.batch.first, active!))
        .catch((error) => failed(active!, error));
      const lostRace = report.error?.type === 'Displaced' && active.phase !== 'begin';
      active = null;
      // A mirror that has lost its place to another stays displaced until it has published again.
      const displaced = report.outcome !== 'published' && (lostRace || state.displaced);
      state = { ...state, lastRun: report, displaced };
      for (const request of next.batch.all) {
        const answer = { requestId: request.requestId, report };
        state = { ...state, answered: remember(state.answered, answer) };
        replies.push(reply(request.replyTo, answer));
      }
      current = null;
    }
  }

  async function attempt(request: RunRequest, run: ActiveRun): Promise<RunReport> {
    const result = await runOnce(state, request, run, {
      onChange(changed) {
        active = changed;
      },
      onPublishing(runId) {
        state = { ...state, publishing: runId };
      },
    });
    const { runId, snapshot, counts, publishedAt, warnings, checkpoint, pageSize, reconciled } = result;
    // The checkpoint moves only here, after the swap (DESIGN 2).
    state = {
      ...state,
      checkpoint,
      pageSize,
      publishing: null,
      reconciledAt: reconciled ? run.startedAt : state.reconciledAt,
      published: { runId, snapshot, rows: counts.rows, publishedAt },
    };
    const { connection, resource } = state;
    await CancellationScope.nonCancellable(() => cleanUp({ connection, resource, runId })).catch((error) => {
      log.warn('published, but staging could not be removed; the next run will do it', {
        error: toRunError(error).message,
      });
    });
    return {
      resource,
      outcome: 'published',
      runId,
      rows: counts.rows,
      counts,
      snapshot,
      warnings,
      error: null,
    };
  }

  function failed(run: ActiveRun, error: unknown): RunReport {
    const outcome = toOutcome(error);
    const { resource } = state;
    const nothing = { rows: null, counts: null, snapshot: null, warnings: [] };
    return { resource, outcome, runId: run.runId, ...nothing, error: toRunError(error) };
  }

  function mustContinue(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength >= EVENTS_BEFORE_CONTINUING;
  }
}

/** Tells whoever asked. An asker that is gone needs no answer, and one that missed it asks again. */
async function reply(workflowId: string | null, answer: RunAnswer): Promise<void> {
  if (workflowId === null) return;
  try {
    // A mirror that is cancelled still owes its answers.
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(workflowId).signal(runAnswered, answer),
    );
  } catch {
    log.info('nobody is there any more to be told of the run', { workflowId });
  }
}
