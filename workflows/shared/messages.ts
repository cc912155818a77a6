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
} from '../../src/core/contract/index.js';

/** To a mirror: run this request. A repeated id is the same request. */
export const requestRun = defineSignal<[MirrorRequest]>('requestRun');
/** To a mirror: the sender no longer waits for this request. */
export const withdrawRequest = defineSignal<[string]>('withdrawRequest');
/** To the workflow that sent the request: the report of its run. */
export const runAnswered = defineSignal<[RunAnswer]>('runAnswered');
/** To the workflow that collects the change notices of a resource. */
export const changeNotice = defineSignal<[ChangeNotice]>(CHANGE_NOTICE_SIGNAL);

/** To a mirror: start a run. Returns the id of the request immediately; the query `answer` returns its report. */
export const sync = defineUpdate<SyncAccepted, [SyncInput]>('sync');

/** The report of a request, by its id; `null` while it waits or runs, and after the mirror has dropped its answer. */
export const requestAnswer = defineQuery<RunReport | null, [string]>('answer');
export const mirrorStatus = defineQuery<MirrorStatus>('status');
export const exportProgress = defineQuery<ExportProgress>('progress');
