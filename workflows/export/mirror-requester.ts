import {
  ApplicationFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  workflowInfo,
} from '@temporalio/workflow';
import type { EpochMs } from '../../src/core/brands.js';
import {
  type MirrorRequest,
  type MirrorState,
  mirrorWorkflowId,
  type RunRecord,
  type Sent,
} from '../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS } from '../../src/core/duration.js';
import { newMirror, type RequestSpec } from '../../src/core/mirror-requests.js';
import { mirrorRequestProblem, runAnswerProblem } from '../../src/core/signal-checks.js';
import { resourceMirrorWorkflow } from '../mirror/resource-mirror.js';
import { nextResendMs, signalOrStart } from '../shared/long-lived.js';
import { handleChecked, requestRun, runAnswered, withdrawRequest } from '../shared/messages.js';

/**
 * A mirror that is only busy answers later, and needs no second request. When a thousand connections start together, that
 * can take most of an hour, and repeated requests would make it longer.
 */
const FIRST_RESEND_MS = HOUR_MS;

/**
 * Sends requests of this workflow to the mirrors of a connection and collects their reports. Use one per workflow: it
 * handles the signal `runAnswered`.
 */
export class MirrorRequester {
  readonly #connection: string;
  /** By request id. After a continue-as-new, a report may arrive before the request is repeated. */
  readonly #reports = new Map<string, RunRecord>();
  /** The current request of each resource; `sent` is `null` while it is being sent, and once it is answered. */
  readonly #current = new Map<string, { readonly requestId: string; readonly sent: Sent | null }>();
  readonly #timer = new SharedTimer();

  constructor(connection: string) {
    this.#connection = connection;
    handleChecked(runAnswered, runAnswerProblem, ({ requestId, report }) => {
      this.#reports.set(requestId, report);
    });
  }

  /** When the current request of a resource was last sent; `null` while it is being sent, and once it is answered. */
  sent(resource: string): Sent | null {
    return this.#current.get(resource)?.sent ?? null;
  }

  /** The report of the current request of a resource; `null` until it arrives. */
  report(resource: string): RunRecord | null {
    return this.#reports.get(this.#current.get(resource)?.requestId ?? '') ?? null;
  }

  /**
   * Sends a request until its report arrives; the mirror recognizes a repeated request by its id. A failed run has a report,
   * too. Send one request per resource at a time.
   *
   * @param name distinguishes the requests of one workflow; the same name is the same request
   * @param giveUpAfterMs the time limit of one run
   * @param sent times of a request that was sent before a continue-as-new; it is sent again only when due
   * @throws ApplicationFailure `Configuration` for a request that the mirror would drop as malformed; `MirrorSilent` if
   *   the mirror does not answer within a day plus the time of several runs
   */
  async request(
    resource: string,
    spec: RequestSpec,
    name: string,
    giveUpAfterMs: number,
    sent: Sent | null = null,
  ): Promise<RunRecord> {
    const { firstExecutionRunId, workflowId: replyTo } = workflowInfo();
    const requestId = `${firstExecutionRunId}/${name}`;
    const request: MirrorRequest = { ...spec, requestId, replyTo };
    const problem = mirrorRequestProblem(request);
    if (problem !== null) throw ApplicationFailure.nonRetryable(`${resource}: ${problem}`, 'Configuration');
    const previous = this.#current.get(resource);
    if (previous !== undefined) this.#reports.delete(previous.requestId);
    this.#current.set(resource, { requestId, sent: null });
    // The mirror limits the time of its runs. The margin is for requests that it serves first.
    const deadline = (sent?.first ?? Date.now()) + DAY_MS + 4 * giveUpAfterMs;
    for (let last = sent ?? (await this.#send(resource, request, null)); ; ) {
      this.#current.set(resource, { requestId, sent: last });
      await this.#timer.waitUntil(() => this.#reports.has(requestId), last.last + last.wait);
      const report = this.#reports.get(requestId);
      if (report !== undefined) {
        this.#current.set(resource, { requestId, sent: null });
        return report;
      }
      if (Date.now() > deadline) {
        throw ApplicationFailure.nonRetryable(
          `${resource}: workflow ${mirrorWorkflowId(this.#connection, resource)} did not answer in time. Check that a worker is running`,
          'MirrorSilent',
        );
      }
      last = await this.#send(resource, request, last);
    }
  }

  async #send(resource: string, request: MirrorRequest, previous: Sent | null): Promise<Sent> {
    const now = Date.now();
    await signalOrStart(mirrorOf(this.#connection, resource), requestRun, request);
    const wait = nextResendMs(previous?.wait, FIRST_RESEND_MS);
    return { first: previous?.first ?? now, last: Date.now(), wait };
  }

  /** Withdraws all unanswered requests, also in a cancelled workflow. */
  async withdrawAll(): Promise<void> {
    const open = [...this.#current].filter(([, { requestId }]) => !this.#reports.has(requestId));
    const withdrawing = ([resource, { requestId }]: (typeof open)[number]): Promise<void> =>
      getExternalWorkflowHandle(mirrorWorkflowId(this.#connection, resource)).signal(
        withdrawRequest,
        requestId,
      );
    await CancellationScope.nonCancellable(() => Promise.allSettled(open.map(withdrawing)));
  }
}

function mirrorOf(connection: string, resource: string) {
  return {
    workflow: resourceMirrorWorkflow,
    workflowId: mirrorWorkflowId(connection, resource),
    args: [newMirror(connection, resource)] as [MirrorState],
    staticSummary: `Mirror of ${resource} (${connection})`,
    memo: { connection, resource },
  };
}

/** One timer for several waits. Each timer takes two events of a history, and is billed as an action. */
export class SharedTimer {
  /** The ends of the waits. */
  readonly #ends = new Set<{ readonly at: EpochMs }>();
  #isRunning = false;

  /**
   * Waits until a condition holds, or until a time.
   *
   * @throws CancelledFailure if the workflow is cancelled
   */
  async waitUntil(isOver: () => boolean, at: EpochMs): Promise<void> {
    const end = { at };
    this.#ends.add(end);
    // A wait that is cancelled removes its end, which stops the timer.
    if (!this.#isRunning) void CancellationScope.nonCancellable(() => this.#run());
    try {
      await condition(() => isOver() || Date.now() >= at);
    } finally {
      this.#ends.delete(end);
    }
  }

  /** Lets a timer run for the earliest end. If that wait ends earlier, the timer stays, and may fire for nothing. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#ends.size > 0) {
      const next = this.#next();
      const isStale = (): boolean => this.#ends.size === 0 || this.#next() < next;
      if (next === Number.POSITIVE_INFINITY) await condition(isStale);
      else await condition(isStale, next - Date.now());
    }
    this.#isRunning = false;
  }

  /** The earliest end that is still to come; infinity if there is none. */
  #next(): number {
    return Math.min(...[...this.#ends].map(({ at }) => at).filter((at) => at > Date.now()));
  }
}
