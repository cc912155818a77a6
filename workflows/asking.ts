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
import { type MirrorRequest, mirrorWorkflowId, type RunReport, type Sent } from '../src/core/contract.js';
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
  /** By request id: an answer may come before a workflow that continued as new has asked again. */
  readonly #reports = new Map<string, RunReport>();
  /** Request ids by resource, of what is asked now. */
  readonly #asked = new Map<string, string>();
  readonly #sent = new Map<string, Sent>();

  constructor(connection: string) {
    this.#connection = connection;
    setHandler(runAnswered, ({ requestId, report }) => {
      this.#reports.set(requestId, report);
    });
  }

  /** When what is asked of a resource now was sent last; `null` while it is on its way, and once it is answered. */
  sent(resource: string): Sent | null {
    return this.#sent.get(resource) ?? null;
  }

  /** The last answer that came for a resource; `null` while one is waited for. */
  report(resource: string): RunReport | null {
    return this.#reports.get(this.#asked.get(resource) ?? '') ?? null;
  }

  /**
   * Asks until there is an answer: a run that failed is an answer too. One question a resource at a time.
   *
   * @param name tells the questions of one workflow apart; the same name again is the same request
   * @param giveUpAfterMs what one run may take
   * @param sent of a question that was sent before a continue-as-new: it is repeated when its time has come
   * @throws ApplicationFailure `MirrorSilent` when the mirror has not answered for a day and some runs' time
   */
  async ask(
    resource: string,
    wish: Wish,
    name: string,
    giveUpAfterMs: number,
    sent: Sent | null = null,
  ): Promise<RunReport> {
    const { firstExecutionRunId, workflowId: replyTo } = workflowInfo();
    const request: MirrorRequest = { ...wish, requestId: `${firstExecutionRunId}/${name}`, replyTo };
    const before = this.#asked.get(resource);
    if (before !== undefined) this.#reports.delete(before);
    this.#asked.set(resource, request.requestId);
    this.#sent.delete(resource);
    // A mirror gives up by itself; the margin is for requests that wait before this one.
    const deadline = (sent?.first ?? Date.now()) + DAY + 4 * giveUpAfterMs;
    for (let last = sent ?? (await this.#send(resource, request, null)); ; ) {
      this.#sent.set(resource, last);
      const left = last.last + last.wait - Date.now();
      await condition(() => this.#reports.has(request.requestId), Math.max(1, left));
      const report = this.#reports.get(request.requestId);
      if (report !== undefined) {
        this.#sent.delete(resource);
        return report;
      }
      if (Date.now() > deadline) {
        throw ApplicationFailure.nonRetryable(
          `${resource}: its mirror (workflow ${mirrorWorkflowId(this.#connection, resource)}) did not answer in time`,
          'MirrorSilent',
        );
      }
      last = await this.#send(resource, request, last);
    }
  }

  async #send(resource: string, request: MirrorRequest, before: Sent | null): Promise<Sent> {
    const workflowId = mirrorWorkflowId(this.#connection, resource);
    const now = Date.now();
    await ensureMirror(this.#connection, resource, workflowId);
    await getExternalWorkflowHandle(workflowId).signal(requestRun, request);
    const wait = before === null ? ASK_AGAIN_AFTER : Math.min(2 * before.wait, ASK_AGAIN_AT_LEAST_EVERY);
    return { first: before?.first ?? now, last: Date.now(), wait };
  }

  /** Takes back what is not answered yet, also in a workflow that is cancelled. */
  async withdrawAll(): Promise<void> {
    const open = [...this.#asked].filter(([, requestId]) => !this.#reports.has(requestId));
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
