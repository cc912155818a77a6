import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { type WritableResource, writeBackLaneId } from '../src/core/write-back-contract.js';
import { writeBackLaneWorkflow } from './write-back-lane.js';
import { joinLane, laneTurn, leaveLane } from './write-back-messages.js';

/** A batch asks again after this long, in case its lane was ended by hand, ms. */
const ASK_AGAIN_AFTER = 5 * 60_000;
const ASK_AGAIN_AT_LEAST_EVERY = 60 * 60_000;

/** A batch's turn in the lane of its resource. One for each workflow: it takes the signal `laneTurn` for itself. */
export class LaneTurn {
  readonly #connection: string;
  readonly #resource: WritableResource;
  readonly #laneId: string;
  readonly #token = workflowInfo().firstExecutionRunId;
  #mine = false;

  constructor(connection: string, resource: WritableResource) {
    this.#connection = connection;
    this.#resource = resource;
    this.#laneId = writeBackLaneId(connection, resource);
    setHandler(laneTurn, (token) => {
      if (token === this.#token) this.#mine = true;
    });
  }

  /** Waits until no other batch of the resource is under way. */
  async take(): Promise<void> {
    const ticket = { workflowId: workflowInfo().workflowId, token: this.#token };
    for (let wait = ASK_AGAIN_AFTER; !this.#mine; wait = Math.min(2 * wait, ASK_AGAIN_AT_LEAST_EVERY)) {
      await this.#ensureLane();
      try {
        await getExternalWorkflowHandle(this.#laneId).signal(joinLane, ticket);
      } catch (error) {
        // It has just ended for want of batches.
        if (isCancellation(error)) throw error;
        continue;
      }
      await condition(() => this.#mine, wait);
    }
  }

  /** Lets the next batch go, also from a workflow that is cancelled. */
  async leave(): Promise<void> {
    this.#mine = false;
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(this.#laneId).signal(leaveLane, this.#token),
    ).catch(() => {
      // Without a lane there is nothing to leave.
    });
  }

  async #ensureLane(): Promise<void> {
    const [connection, resource] = [this.#connection, this.#resource];
    try {
      await startChild(writeBackLaneWorkflow, {
        workflowId: this.#laneId,
        args: [{ connection, resource, holder: null, waiting: [] }],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        staticSummary: `Batches of ${resource} (${connection}), one after the other`,
        memo: { connection, resource },
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
}
