import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { LaneTicket, WriteBackProgress } from '../src/core/write-back-contract.js';

/** To a lane: let me go when it is my turn. Repeating it does no harm. */
export const joinLane = defineSignal<[LaneTicket]>('joinLane');
/** To a lane: I am done, or wait no longer. */
export const leaveLane = defineSignal<[token: string]>('leaveLane');
/** To a batch: it is your turn. Comes again now and then, to see whether the batch is still there. */
export const laneTurn = defineSignal<[token: string]>('laneTurn');

export const writeBackProgress = defineQuery<WriteBackProgress>('progress');
