import { randomBytes } from 'node:crypto';
import type { RunRequest } from '../../src/core/contract/index.js';

/** A request to a mirror with a unique id and no waiting caller. Default: an increment. */
export function runRequest(changes: Partial<RunRequest> = {}): RunRequest {
  return {
    kind: 'run',
    requestId: randomBytes(4).toString('hex'),
    replyTo: null,
    mode: 'increment',
    reconcile: false,
    adopt: false,
    allowDeletes: false,
    since: null,
    nominalStart: Date.now(),
    ...changes,
  };
}
