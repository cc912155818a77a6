import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  CHANGE_NOTICE_SIGNAL,
  type ChangeNotice,
  type ExportProgress,
  type MirrorRequest,
  type MirrorStatus,
  type RunAnswer,
  type RunReport,
  type SyncAccepted,
  type SyncInput,
} from '../src/core/contract.js';

/** To a mirror: do this for me. Repeating it with the same id does no harm. */
export const requestRun = defineSignal<[MirrorRequest]>('requestRun');
/** To a mirror: I no longer wait for this request. */
export const withdrawRequest = defineSignal<[string]>('withdrawRequest');
/** To the workflow that asked: what became of it. */
export const runAnswered = defineSignal<[RunAnswer]>('runAnswered');
/** To the workflow that gathers change notices. */
export const changeNotice = defineSignal<[ChangeNotice]>(CHANGE_NOTICE_SIGNAL);

/** To a mirror: run. Answers at once with the id of the request; `answer` tells what became of it. */
export const sync = defineUpdate<SyncAccepted, [SyncInput]>('sync');

/** What became of a request, by its id; `null` while it waits or runs, and for one that the mirror does not remember. */
export const requestAnswer = defineQuery<RunReport | null, [string]>('answer');
export const mirrorStatus = defineQuery<MirrorStatus>('status');
export const exportProgress = defineQuery<ExportProgress>('progress');
