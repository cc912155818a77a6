import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { type MirrorRequest, mirrorWorkflowId, type RunReport } from '../src/core/contract.js';
import { newMirror } from '../src/core/mirror.js';
import { requestRun, runAnswered, withdrawRequest } from './messages.js';
import { resourceMirrorWorkflow } from './resource-mirror.js';

/** A request is repeated after this long without an answer, ms; the mirror knows it by its id. */
const ASK_AGAIN_AFTER = 5 * 60_000;
const ASK_AGAIN_AT_LEAST_EVERY = 60 * 60_000;
const DAY = 24 * 60 * 60_000;

/** What is asked of a mirror, without what the asking adds: an id and whom to answer. */
export type Wish = WithoutAsker<MirrorRequest>;
type WithoutAsker<Request> = Request extends unknown ? Omit<Request, 'requestId' | 'replyTo'> : never;

/**
 * Asks the mirrors of a connection on behalf of this workflow, and gathers what they answer. One for each workflow:
 * it takes the signal `runAnswered` for itself.
 */
export class Asking {
  readonly #connection: string;
  readonly #reports = new Map<string, RunReport>();
  /** Request ids by resource, of what is asked now. */
  readonly #asked = new Map<string, string>();

  constructor(connection: string) {
    this.#connection = connection;
    setHandler(runAnswered, ({ requestId, report }) => {
      if (this.#asked.get(report.resource) === requestId) this.#reports.set(report.resource, report);
    });
  }

  /** The last answer that came for a resource; `null` while one is waited for. */
  report(resource: string): RunReport | null {
    return this.#reports.get(resource) ?? null;
  }

  /**
   * Asks until there is an answer: a run that failed is an answer too. One question a resource at a time.
   *
   * @param name tells the questions of one workflow apart; the same name again is the same request
   * @param giveUpAfterMs what one run may take
   * @throws ApplicationFailure `MirrorSilent` when the mirror has not answered for a day and some runs' time
   */
  async ask(resource: string, wish: Wish, name: string, giveUpAfterMs: number): Promise<RunReport> {
    const workflowId = mirrorWorkflowId(this.#connection, resource);
    const { firstExecutionRunId, workflowId: replyTo } = workflowInfo();
    const request: MirrorRequest = { ...wish, requestId: `${firstExecutionRunId}/${name}`, replyTo };
    this.#reports.delete(resource);
    this.#asked.set(resource, request.requestId);
    // A mirror gives up by itself; the margin is for requests that wait before this one.
    const deadline = Date.now() + DAY + 4 * giveUpAfterMs;
    for (let wait = ASK_AGAIN_AFTER; ; wait = Math.min(2 * wait, ASK_AGAIN_AT_LEAST_EVERY)) {
      await ensureMirror(this.#connection, resource, workflowId);
      await getExternalWorkflowHandle(workflowId).signal(requestRun, request);
      await condition(() => this.#reports.has(resource), wait);
      const report = this.#reports.get(resource);
      if (report !== undefined) return report;
      if (Date.now() > deadline) {
        throw ApplicationFailure.nonRetryable(
          `${resource}: its mirror (workflow ${workflowId}) did not answer in time`,
          'MirrorSilent',
        );
      }
    }
  }

  /** Takes back what is not answered yet, also in a workflow that is cancelled. */
  async withdrawAll(): Promise<void> {
    const open = [...this.#asked].filter(([resource]) => !this.#reports.has(resource));
    await CancellationScope.nonCancellable(() =>
      Promise.allSettled(
        open.map(([resource, requestId]) =>
          getExternalWorkflowHandle(mirrorWorkflowId(this.#connection, resource)).signal(
            withdrawRequest,
            requestId,
          ),
        ),
      ),
    );
  }
}

/** Starts a mirror that outlives whoever asks, unless it is there. */
async function ensureMirror(connection: string, resource: string, workflowId: string): Promise<void> {
  try {
    await startChild(resourceMirrorWorkflow, {
      workflowId,
      args: [newMirror(connection, resource)],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      staticSummary: `Mirror of ${resource} (${connection})`,
      memo: { connection, resource },
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
