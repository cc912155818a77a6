import type { MirrorState } from './contract.js';

/** The state of a mirror that has run nothing yet. */
export function newMirror(connection: string, resource: string): MirrorState {
  return {
    connection,
    resource,
    checkpoint: null,
    published: null,
    publishing: null,
    displaced: false,
    pageSize: null,
    reconciledAt: null,
    lastRun: null,
    resumable: null,
    waiting: [],
    answered: [],
  };
}
