import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { LockTicket, WriteBackProgress } from '../../src/core/contract/write-back.js';

/** To the lock: queue this batch for the resource. A repeated ticket has no effect. */
export const acquireLock = defineSignal<[LockTicket]>('acquireLock');
/** To the lock: the batch is done, or no longer waits. */
export const releaseLock = defineSignal<[token: string]>('releaseLock');
/** To a batch: it holds the lock. Repeated periodically to check that the batch still runs. */
export const lockGranted = defineSignal<[token: string]>('lockGranted');

export const writeBackProgress = defineQuery<WriteBackProgress>('progress');
