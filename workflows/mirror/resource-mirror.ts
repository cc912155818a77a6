import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  proxySinks,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  Activities,
  DiscardRunInput,
  MirrorState,
  MirrorStatus,
  RunAnswer,
  RunEnded,
  RunRecord,
  SyncInput,
} from '../../src/core/contract/index.js';
import type { MetricSinks } from '../../src/core/metrics.js';
import { newMirror, type Work } from '../../src/core/mirror-requests.js';
import { toReport } from '../../src/core/run-records.js';
import { idProblem, mirrorRequestProblem } from '../../src/core/signal-checks.js';
import { warningText } from '../../src/core/warnings.js';
import type {
  Call,
  CallEnd,
  CallName,
  Command,
  Decided,
  InputOf,
  Mirror,
  Moment,
  PhasesInput,
  ResultOf,
} from '../../src/mirror/mirror-commands.js';
import {
  callEnded,
  nextTurn,
  progressed,
  requested,
  sweepDue,
  untilTurn,
  withdrawn,
} from '../../src/mirror/mirror-rules.js';
import { answerOf, syncProblem, syncRequest } from '../../src/mirror/request-queue.js';
import { untilSweep } from '../../src/mirror/sweep-rules.js';
import { type Perform, runPhases } from '../../src/run/phases.js';
import { activity, untilGivenUp } from '../shared/activity-options.js';
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
import { failureOf, toRunError } from '../shared/run-errors.js';

/** Events of three runs without changes. */
const SHORT_HISTORY_EVENTS = 50;

/** Activities that a cancellation ends. Of the others, the mirror has to know the result: the swap may have been sent, for example. */
const CANCELLABLE: readonly CallName[] = ['worktrack.run'];
/** A cancelled run waits until its activities have stopped writing. Only then can its files be removed. */
const WAIT_UNTIL_STOPPED = {
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

/** What the log says about calls whose failure does not fail the run. */
const MADE_UP_FOR: Partial<Record<CallName, string>> = {
  'worktrack.followTable':
    'the run is published, but the table does not show it; the next run repeats the step',
  'worktrack.followOnPublished':
    'the run is published, but a workflow of onPublished was not started; the next run repeats it',
  'worktrack.sweep': 'the sweep failed; a later one repeats it',
  'worktrack.sweepFailedRun':
    'what a failed run wrote could not be removed; the next published run removes it',
};

/**
 * The only writer of one resource in the lake (docs/explanation/guarantees.md#one-writer). It never completes: its state,
 * which holds the checkpoint and the waiting requests, passes from each history to the next by continue-as-new. What it does
 * is decided in `src/mirror`; the workflow carries it out.
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

class ResourceMirror {
  #mirror: Mirror;
  /** Of the calls of the current turn. */
  #scope: CancellationScope | null = null;
  readonly #replies: Promise<void>[] = [];
  /** Diffs of dry runs in the lake, which this execution removes. */
  #diffs = 0;

  constructor(initial: MirrorState) {
    // A state that an earlier version wrote lacks the fields that were added since. They have the value of a new mirror.
    const state = { ...newMirror(initial.connection, initial.resource), ...initial };
    const waiting = wellFormed(state.waiting, mirrorRequestProblem);
    const { firstExecutionRunId: workflow, namespace } = workflowInfo();
    this.#mirror = { state: { ...state, waiting }, writer: { workflow, namespace }, turn: null };
  }

  get state(): MirrorState {
    return this.#mirror.state;
  }

  handleMessages(): void {
    setHandler(mirrorStatus, () => this.#status());
    setHandler(requestAnswer, (requestId) => {
      const answer = answerOf(this.state.answered, requestId);
      return answer === undefined ? null : toReport(answer.report);
    });
    handleChecked(requestRun, mirrorRequestProblem, (request) =>
      this.#decide(requested(this.#mirror, request)),
    );
    setHandler(
      sync,
      (input) => {
        const request = syncRequest(input, uuid4(), Date.now());
        this.#decide(requested(this.#mirror, request));
        return { requestId: request.requestId };
      },
      { validator: (input) => checkSync(input, this.state) },
    );
    handleChecked(withdrawRequest, idProblem, (requestId) =>
      this.#decide(withdrawn(this.#mirror, requestId)),
    );
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
      else if (!(await condition(isAwake, sweepIn))) await this.#carryOut(sweepDue(this.#mirror, Date.now()));
      if (this.#mustContinue()) break;
      const wait = untilTurn(this.state, Date.now());
      if (wait > 0) {
        await sleep(wait);
        continue;
      }
      const turn = nextTurn(this.#mirror, moment());
      // The sweep has ended, and no request waits.
      if (turn === null) continue;
      this.#scope = new CancellationScope();
      await this.#carryOut(turn);
      this.#scope = null;
    }
  }

  /** Waits for the answers and reports that are being sent, even if the workflow is cancelled. */
  async repliesSent(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      // A request that arrives meanwhile may get a reply, too.
      for (let sent = -1; sent < this.#replies.length; ) {
        sent = this.#replies.length;
        await Promise.all(this.#replies);
      }
    });
  }

  #status(): MirrorStatus {
    const { connection, resource, checkpoint, waiting } = this.state;
    const lastRun = this.state.lastRun && toReport(this.state.lastRun);
    const { configured, learned } = this.state.pageSize ?? {};
    const pageSize = configured === undefined || learned === undefined ? null : { configured, learned };
    const { writer, turn } = this.#mirror;
    return {
      ...{ connection, resource, writer, checkpoint, ...shownRun(this.state.published) },
      ...{ active: turn?.active ?? null, waiting: waiting.length, lastRun, pageSize },
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

  /** Carries out a decision, and those that follow from its calls. */
  async #carryOut(decided: Decided): Promise<void> {
    for (let call = this.#decide(decided); call !== null; ) {
      const end = await this.#follow(call);
      // In one step: a signal may have changed the mirror since the call ended.
      call = this.#decide(this.#ended(call, end));
    }
  }

  /** Carries out all but a call. @returns the call; `null`: none */
  #decide({ mirror, commands }: Decided): Call | null {
    this.#mirror = mirror;
    const [call = null] = commands.filter((command) => command.do === 'call');
    for (const command of commands) if (command.do !== 'call') this.#do(command);
    this.showStatus();
    return call;
  }

  #do(command: Exclude<Command, Call>): void {
    const { connection } = this.state;
    if (command.do === 'cancel') this.#scope?.cancel();
    else if (command.do === 'count') countRun(connection, command.report, command.ms);
    else if (command.do === 'alert') this.#replies.push(reportAlerts({ connection, runs: [command.report] }));
    else if (command.do === 'reply') this.#replies.push(reply(command.to, command.answer));
    else this.#replies.push(this.#discardLater(command.input, command.afterMs));
  }

  /** What follows the end of a call. A rule that fails at its result fails the run. */
  #ended<N extends CallName>(call: Call<N>, end: CallEnd<N>): Decided {
    try {
      return callEnded(this.#mirror, call, end, moment());
    } catch (error) {
      if ('failure' in end) throw error;
      return callEnded(this.#mirror, call, { failure: failureOf(error) }, moment());
    }
  }

  /** How a call ends. */
  async #follow<N extends CallName>(call: Call<N>): Promise<CallEnd<N>> {
    const perform = () => this.#perform(call);
    try {
      return { result: await (this.#scope?.run(perform) ?? perform()) };
    } catch (error) {
      const failure = failureOf(error);
      const madeUpFor = MADE_UP_FOR[call.name];
      if (madeUpFor !== undefined) log.warn(madeUpFor, { error: failure.error.message });
      return { failure };
    }
  }

  async #perform<N extends CallName>({ name, input, work, summary }: Call<N>): Promise<ResultOf<N>> {
    if (name === 'phases') return this.#phases(input as PhasesInput, work) as Promise<ResultOf<N>>;
    const run = activity(name as keyof Activities, this.state.connection, work, {
      ...(summary && { summary }),
      ...(name === 'worktrack.run' && WAIT_UNTIL_STOPPED),
    }) as unknown as (given: InputOf<N>) => Promise<ResultOf<N>>;
    return CANCELLABLE.includes(name) ? run(input) : CancellationScope.nonCancellable(() => run(input));
  }

  /** The phases of a run whose staging is in the lake. Each is one activity or more, on any worker. */
  #phases({ ref, first, ...limits }: PhasesInput, work: Work): Promise<RunEnded> {
    const { connection, resource } = ref;
    const perform: Perform = (phase, of, summary) => {
      const name = `worktrack.${phase}` as const;
      const options = {
        ...WAIT_UNTIL_STOPPED,
        summary: `${resource}: ${summary}`,
        ...untilGivenUp(name, limits),
      };
      const run = () => activity(name, connection, work, options)(of);
      // Its swap may have been sent, so its result must be known.
      return phase === 'publish' ? CancellationScope.nonCancellable(run) : run();
    };
    return runPhases(ref, first, perform, (next) => {
      this.#mirror = progressed(this.#mirror, next);
      this.showStatus();
    });
  }

  /** Removes the diff of a dry run. A mirror that is cancelled or continues as new removes it immediately. */
  async #discardLater(input: DiscardRunInput, afterMs: number): Promise<void> {
    this.#diffs++;
    await condition(() => shouldContinueAsNew(), afterMs).catch(() => {});
    this.#diffs--;
    await this.#perform({ do: 'call', name: 'worktrack.sweepFailedRun', input, work: 'background' }).catch(
      (error) => log.warn(MADE_UP_FOR['worktrack.sweepFailedRun']!, { error: toRunError(error).message }),
    );
  }
}

function moment(): Moment {
  return { now: Date.now(), random: uuid4 };
}

/** The published run as queries show it. */
function shownRun(state: MirrorState['published']): Pick<MirrorStatus, 'published' | 'tableWarning'> {
  if (state === null) return { published: null };
  const { tableWarning, ...published } = state;
  return { published, ...(tableWarning === null ? {} : { tableWarning: warningText(tableWarning) }) };
}

/**
 * Rejects an update that is invalid, or that may not wait, before it enters the history.
 *
 * @throws ApplicationFailure `InvalidSync` or `QueueFull`
 */
function checkSync(input: SyncInput | undefined, state: MirrorState): void {
  const problem = syncProblem(input, state);
  if (problem !== null) throw ApplicationFailure.nonRetryable(problem.message, problem.type);
}

/**
 * Counts an ended run, whatever its outcome. The mirror does this because only it sees the end of every run. Metrics are
 * not in the history, and a replay does not count a run again.
 *
 * @param ms its duration
 */
function countRun(connection: string, { resource, outcome }: RunRecord, ms: number): void {
  // A worker that only replays has no such sink.
  if (workflowInfo().unsafe.isReplaying) return;
  const { worktrackMetrics } = proxySinks<MetricSinks>();
  worktrackMetrics.record('runs', 1, { connection, resource, outcome });
  worktrackMetrics.record('runSeconds', ms / 1000, { connection, resource });
}

/** Signals the answer to the requester. A requester that missed it sends its request again. */
async function reply(workflowId: string, answer: RunAnswer): Promise<void> {
  try {
    // A cancelled mirror still answers its requests.
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(workflowId).signal(runAnswered, answer),
    );
  } catch {
    log.info('the workflow that requested the run no longer exists', { workflowId });
  }
}
