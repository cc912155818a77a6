import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  patched,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  ActiveRun,
  MirrorRequest,
  MirrorState,
  MirrorStatus,
  RunAnswer,
  RunReport,
} from '../src/core/contract.js';
import { newMirror } from '../src/core/mirror.js';
import { newRunId, untilOwnSecond } from '../src/lake/run-id.js';
import { mirrorDetails, showDetails } from './details.js';
import { mayResume, toOutcome, toRunError } from './failures.js';
import { mirrorStatus, requestAnswer, requestRun, runAnswered, sync, withdrawRequest } from './messages.js';
import { countRun } from './metrics.js';
import { runEnded } from './notify.js';
import { discardRun, perform } from './perform.js';
import { answerOf, type Batch, enqueue, nextBatch, remember } from './queue.js';
import { checkSyncInput, syncRequest } from './sync-request.js';

/** Far below the server's own suggestion: a history stays small enough to be read and replayed in no time. */
const EVENTS_BEFORE_CONTINUING = 1000;

/**
 * The only writer of one resource in the lake, for ever (DESIGN 2). Requests queue up and are met one at a time; the
 * checkpoint is its state, carried from one continue-as-new to the next.
 */
export async function resourceMirrorWorkflow(initial: MirrorState): Promise<void> {
  // What an earlier version did not know of is as in a new mirror.
  let state: MirrorState = { ...newMirror(initial.connection, initial.resource), ...initial };
  let active: ActiveRun | null = null;
  let current: { batch: Batch; scope: CancellationScope; wanted: Set<string> } | null = null;
  const replies: Promise<void>[] = [];

  const status = (): MirrorStatus => {
    const { connection, resource, checkpoint, published, lastRun, waiting } = state;
    return { connection, resource, checkpoint, published, active, waiting: waiting.length, lastRun };
  };
  setHandler(mirrorStatus, status);
  setHandler(requestAnswer, (requestId) => answerOf(state.answered, requestId)?.report ?? null);
  setHandler(requestRun, accept);
  setHandler(
    sync,
    (input) => {
      const request = syncRequest(input, uuid4(), Date.now());
      accept(request);
      return { requestId: request.requestId };
    },
    { validator: checkSyncInput },
  );
  setHandler(withdrawRequest, (requestId) => {
    state = { ...state, waiting: state.waiting.filter((request) => request.requestId !== requestId) };
    // A run stops only when nobody else waits for it.
    if (current?.wanted.delete(requestId) && current.wanted.size === 0) current.scope.cancel();
  });

  showDetails(mirrorDetails(status()));
  try {
    await serve();
  } finally {
    await CancellationScope.nonCancellable(() => Promise.all(replies));
  }
  await continueAsNew<typeof resourceMirrorWorkflow>(state);

  function accept(request: MirrorRequest): void {
    const answer = answerOf(state.answered, request.requestId);
    if (answer !== undefined) replies.push(reply(request.replyTo, answer));
    else if (current?.batch.all.some((other) => other.requestId === request.requestId))
      current.wanted.add(request.requestId);
    else state = { ...state, waiting: enqueue(state.waiting, request) };
    if (request.kind === 'run' && request.notify !== undefined) state = { ...state, notify: request.notify };
  }

  /** Meets one batch of requests after the other, until the history has grown enough. */
  async function serve(): Promise<void> {
    for (;;) {
      await condition(() => state.waiting.length > 0 || mustContinue());
      if (mustContinue()) break;
      const wait = untilNextRun();
      if (wait > 0 && patched('a-second-a-run')) {
        await sleep(wait);
        continue;
      }
      const next = nextBatch(state.waiting);
      if (next === null) break;
      const { first, all } = next.batch;
      const scope = new CancellationScope();
      current = { batch: next.batch, scope, wanted: new Set(all.map((request) => request.requestId)) };
      state = { ...state, waiting: next.rest };
      const startedAt = Date.now();
      const report = await scope.run(() => attempt(first));
      if (first.kind === 'run') {
        countRun(state.connection, report, Date.now() - startedAt);
        const { changes, told } = runEnded(state, report);
        state = { ...state, ...changes };
        if (told !== null) replies.push(told);
      }
      change(null);
      state = { ...state, lastRun: first.kind === 'run' ? report : state.lastRun };
      for (const { requestId, replyTo } of all) {
        const answer = { requestId, report };
        state = { ...state, answered: remember(state.answered, answer) };
        replies.push(reply(replyTo, answer));
      }
      current = null;
      showDetails(mirrorDetails(status()));
    }
  }

  function untilNextRun(): number {
    const before = [state.published?.runId, state.lastRun?.runId].filter((runId) => runId != null);
    return untilOwnSecond(Date.now(), before);
  }

  function change(changed: ActiveRun | null): void {
    active = changed;
    showDetails(mirrorDetails(status()));
  }

  /** Never throws: what goes wrong is the answer. */
  async function attempt(request: MirrorRequest): Promise<RunReport> {
    const startedAt = Date.now();
    const begun: ActiveRun = {
      runId: newRunId(startedAt, state.published?.runId ?? null, uuid4()),
      ...{ startedAt, phase: 'begin', pages: 0, rows: 0, resumed: null },
      mode: request.kind === 'run' ? request.mode : 'increment',
    };
    change(begun);
    try {
      return await perform(request, begun, { state: () => state, onState, onChange: change });
    } catch (error) {
      const failed = active ?? begun;
      const { type } = toRunError(error);
      // Nobody will ever want what these wrote.
      if (toOutcome(error) === 'cancelled' || type === 'Displaced') await discard(failed);
      // A mirror that has lost its place to another stays displaced until it has published again.
      const displaced = state.displaced || (type === 'Displaced' && failed.phase !== 'begin');
      state = { ...state, displaced, resumable: resumableAfter(failed, error) };
      const { resource } = state;
      const nothing = { rows: null, counts: null, snapshot: null, warnings: [] };
      const { runId } = failed;
      return { resource, outcome: toOutcome(error), runId, ...nothing, error: toRunError(error) };
    }
  }

  function onState(changes: Partial<MirrorState>): void {
    state = { ...state, ...changes };
  }

  function resumableAfter(run: ActiveRun, error: unknown): MirrorState['resumable'] {
    // A run that never came to reading leaves what there was.
    if (run.phase === 'begin') return state.resumable;
    return mayResume(error, run) ? run.runId : null;
  }

  async function discard({ runId }: ActiveRun): Promise<void> {
    const { connection, resource } = state;
    await discardRun({ connection, resource, runId }).catch((error) => {
      log.warn('what a run wrote that is over could not be removed; the next run will do it', {
        error: toRunError(error).message,
      });
    });
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
