import type { MirrorState } from './contract/index.js';

/** The state of a mirror before its first run. */
export function newMirror(connection: string, resource: string): MirrorState {
  return {
    connection,
    resource,
    checkpoint: null,
    published: null,
    publishing: null,
    rollingBackTo: null,
    cleanedUpTo: null,
    sweepUntil: null,
    unpublished: [],
    displaced: false,
    pageSize: null,
    lastRun: null,
    resumable: null,
    waiting: [],
    answered: [],
  };
}

/** Maximum rereads of a shifting list within one run (docs/explanation/semantics.md#full-reads). */
export const MAX_REREADS = 2;
