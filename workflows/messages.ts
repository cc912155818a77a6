import { defineQuery, defineSignal } from '@temporalio/workflow';
import {
  CHANGE_NOTICE_SIGNAL,
  type ChangeNotice,
  type ExportProgress,
  type MirrorStatus,
  type RunAnswer,
  type RunRequest,
} from '../src/core/contract.js';

/** To a mirror: run for me. Repeating it with the same id does no harm. */
export const requestRun = defineSignal<[RunRequest]>('requestRun');
/** To a mirror: I no longer wait for this request. */
export const withdrawRequest = defineSignal<[string]>('withdrawRequest');
/** To the workflow that asked: what became of it. */
export const runAnswered = defineSignal<[RunAnswer]>('runAnswered');
/** To the workflow that gathers change notices. */
export const changeNotice = defineSignal<[ChangeNotice]>(CHANGE_NOTICE_SIGNAL);

export const mirrorStatus = defineQuery<MirrorStatus>('status');
export const exportProgress = defineQuery<ExportProgress>('progress');
