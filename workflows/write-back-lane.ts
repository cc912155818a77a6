import {
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { LaneState, LaneTicket } from '../src/core/write-back-contract.js';
import { joinLane, laneTurn, leaveLane } from './write-back-messages.js';

/** A lane that nobody wants ends by itself; the next batch starts it anew. */
const IDLE = '1 minute';
/** How often a batch that keeps others waiting is asked whether it is still there, ms. */
const CHECK_FIRST_MS = 60_000;
const CHECK_AT_LEAST_EVERY_MS = 30 * 60_000;
const EVENTS_BEFORE_CONTINUING = 1000;

/**
 * Lets the batches of one resource write one after the other, in the order in which they came. A batch that ended
 * without a word (somebody terminated it) is noticed, for it can be signalled no more.
 */
export async function writeBackLaneWorkflow(initial: LaneState): Promise<void> {
  let holder: LaneTicket | null = initial.holder;
  let waiting: readonly LaneTicket[] = initial.waiting;
  /** Whether the holder is to be asked at once whether it is still there. */
  let ask = false;

  setHandler(joinLane, (ticket) => {
    ask = true;
    if (holder?.token === ticket.token) return;
    // One batch has one workflow: when another run of it asks, the one before is over.
    if (holder?.workflowId === ticket.workflowId) holder = null;
    if (waiting.some(({ token }) => token === ticket.token)) return;
    waiting = [...waiting.filter(({ workflowId }) => workflowId !== ticket.workflowId), ticket];
  });
  setHandler(leaveLane, (token) => {
    waiting = waiting.filter((ticket) => ticket.token !== token);
    if (holder?.token === token) holder = null;
  });

  for (;;) {
    if (mustContinue()) {
      await continueAsNew<typeof writeBackLaneWorkflow>({ ...initial, holder, waiting });
    }
    if (holder === null) {
      const [next, ...others] = waiting;
      if (next !== undefined) {
        [holder, waiting, ask] = [next, others, false];
        await callUp(next);
      } else if (!(await condition(() => waiting.length > 0, IDLE)) && waiting.length === 0) {
        return;
      }
    } else {
      await watch(holder);
    }
  }

  /** Until the holder has left, or is found to be gone. */
  async function watch(ticket: LaneTicket): Promise<void> {
    const isOver = (): boolean => holder?.token !== ticket.token || mustContinue();
    await condition(() => isOver() || ask || waiting.length > 0);
    for (let wait = CHECK_FIRST_MS; !isOver(); wait = Math.min(2 * wait, CHECK_AT_LEAST_EVERY_MS)) {
      await condition(() => isOver() || ask, wait);
      if (isOver()) return;
      ask = false;
      await callUp(ticket);
      if (waiting.length === 0) return;
    }
  }

  /** Tells a batch that it is its turn; one that is not there any more has had it. */
  async function callUp({ workflowId, token }: LaneTicket): Promise<void> {
    try {
      await getExternalWorkflowHandle(workflowId).signal(laneTurn, token);
    } catch (error) {
      if (isCancellation(error)) throw error;
      if (holder?.token === token) holder = null;
    }
  }

  function mustContinue(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength >= EVENTS_BEFORE_CONTINUING;
  }
}
