import type { MirrorRequest, MirrorState, RunRequest } from './contract/index.js';
import { DAY_MS } from './duration.js';

/** A request without its id and the workflow to answer. */
export type RequestSpec = WithoutSender<MirrorRequest>;
type WithoutSender<Request> = Request extends unknown ? Omit<Request, 'requestId' | 'replyTo'> : never;

/** A request for a run: an increment from the checkpoint, apart from `changes`. @param nominalStart milliseconds since 1970 */
export function runSpec(
  nominalStart: number,
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

/**
 * The nominal start of an export: the time of its Schedule, unless it begins more than a day later. Then it shows the service as
 * it is now, so it has the day when it begins. All times are milliseconds since 1970.
 *
 * @param scheduledAt `null`: no Schedule started it
 */
export function nominalStartOf(scheduledAt: number | null, now: number): number {
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

/** The warning of a run that is published, and whose sweep failed. @param message why */
export function sweepWarning(message: string): string {
  return `sweep: what earlier runs left could not be removed; a later run does it. ${message}`;
}

/** Maximum rereads of a shifting list within one run (docs/explanation/guarantees.md#full-reads). */
export const MAX_REREADS = 2;
