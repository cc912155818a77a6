import type { EpochMs, RunId } from './brands.js';
import type {
  MirrorRequest,
  MirrorState,
  RunError,
  RunRecord,
  RunRequest,
  UnreadDocument,
} from './contract/index.js';
import { DAY_MS } from './duration.js';

/** A request without its id and the workflow to answer. */
export type RequestSpec = WithoutSender<MirrorRequest>;
type WithoutSender<Request> = Request extends unknown ? Omit<Request, 'requestId' | 'replyTo'> : never;

/** A request for a run: an increment from the checkpoint, apart from `changes`. */
export function runSpec(
  nominalStart: EpochMs,
  changes: Partial<WithoutSender<RunRequest>> = {},
): WithoutSender<RunRequest> {
  return {
    kind: 'run',
    mode: 'increment',
    reconcile: false,
    adopt: false,
    allowDeletes: false,
    since: null,
    nominalStart,
    ...changes,
  };
}

/** Whether someone waits for the work, or a Schedule or a change notice requested it. */
export type Work = 'manual' | 'background';

/** The work of a request to a mirror. Only a run can be requested in the background. */
export function workOf(request: RequestSpec): Work {
  return request.kind === 'run' && request.background === true ? 'background' : 'manual';
}

/** Why a run ended without being published, and what its failure says besides its message. */
export interface RunFailure {
  readonly outcome: 'failed' | 'refused' | 'cancelled';
  readonly error: RunError;
  /** Whether the run lost its swap to another mirror. Otherwise a displaced mirror has stopped at the fence. */
  readonly isOvertaken?: boolean;
  /** The newer id in the lake, if a request was refused because its id is not later (`checkIsNewId`). */
  readonly newerId?: RunId;
  /** What the run has staged and no worker could read. Another worker may have been able to continue the run. */
  readonly unread?: UnreadDocument;
  /** The last run whose workflow of `onPublished` was started before the failure. */
  readonly hookedTo?: RunId;
}

/** The report of a run, or of a request, that ended with an error. */
export function failedReport(
  resource: string,
  runId: RunId | null,
  { outcome, error }: Pick<RunFailure, 'outcome' | 'error'>,
): RunRecord {
  const nothing = { rows: null, counts: null, snapshot: null, warnings: [] };
  return { resource, outcome, runId, ...nothing, error };
}

/**
 * The nominal start of an export: the time of its Schedule, unless it begins more than a day later. Then it shows the service as
 * it is now, so it has the day when it begins.
 *
 * @param scheduledAt `null`: no Schedule started it
 */
export function nominalStartOf(scheduledAt: EpochMs | null, now: EpochMs): EpochMs {
  return scheduledAt === null || now - scheduledAt > DAY_MS ? now : scheduledAt;
}

/** A mirror's state before its first run. */
export function newMirror(connection: string, resource: string): MirrorState {
  return {
    connection,
    resource,
    checkpoint: null,
    published: null,
    sweepAt: null,
    displaced: false,
    pageSize: null,
    lastRun: null,
    resumable: null,
    hookedTo: null,
    waiting: [],
    answered: [],
  };
}

/** Maximum rereads of a shifting list within one run (docs/explanation/guarantees.md#full-reads). */
export const MAX_REREADS = 2;
