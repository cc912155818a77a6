import {
  BrokenPromiseError,
  RefusedError,
  RejectedError,
  ServiceError,
  TransientError,
} from '../../src/api/index.js';
import type { WritableResource } from '../../src/core/write-back-contract.js';
import { answeredId, type RowReceipt, toRequest } from '../../src/write-back/index.js';
import type { OpenConnection } from '../deps.js';
import type { Task } from './open-chunk.js';

/** How sending a row ended. */
export type Sent =
  | { readonly kind: 'settled'; readonly receipt: RowReceipt }
  /** It may have been written. */
  | {
      readonly kind: 'doubt';
      readonly status: number | null;
      readonly message: string;
      readonly stop: ServiceError | null;
    }
  /** It was not written, and why must be mended before anything else is sent. */
  | { readonly kind: 'unsent'; readonly stop: unknown }
  /** The service has nothing at the path. */
  | { readonly kind: 'nothing-there'; readonly receipt: RowReceipt };

export interface SendRowOptions {
  readonly connection: OpenConnection;
  readonly resource: WritableResource;
  readonly signal: AbortSignal;
  readonly onWait: (untilMs: number) => void;
}

/** Answers of 2xx that are cut short are asked for again so often. */
const ANSWERS = 3;

/** Sends one row, within the connection's rate budget. Never throws. */
export async function sendRow({ row, inDoubt }: Task, options: SendRowOptions): Promise<Sent> {
  const { connection, resource, signal, onWait } = options;
  const { method, path, body } = toRequest(resource, row, connection.settings.writeBack);
  let sentBefore = inDoubt;
  for (let answers = 1; ; answers++) {
    try {
      const request = { resource, method, path, body, idempotencyKey: row.idempotencyKey, signal, onWait };
      const { value, status } = await connection.client.send(request);
      try {
        return { kind: 'settled', receipt: accepted(resource, status, answeredId(value)) };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        sentBefore = true;
        if (answers < ANSWERS) continue;
        // Whatever else it says, the service has said that it took the row.
        return { kind: 'settled', receipt: accepted(resource, status, null) };
      }
    } catch (error) {
      return failed(error, sentBefore, signal);
    }
  }
}

function accepted(resource: WritableResource, status: number, id: string | null): RowReceipt {
  const outcome = resource === 'time-entries' || status === 201 ? 'created' : 'updated';
  return { outcome, status, id, message: id === null ? 'the answer held no id' : null };
}

function failed(error: unknown, sentBefore: boolean, signal: AbortSignal): Sent {
  if (signal.aborted && !(error instanceof ServiceError)) {
    return {
      kind: 'doubt',
      status: null,
      message: 'the batch was stopped before the answer came',
      stop: null,
    };
  }
  if (!(error instanceof ServiceError)) return { kind: 'unsent', stop: error };
  const { status } = error;
  const message = error.serviceMessage ?? error.message;
  const first = !sentBefore && (error.attempt ?? 1) === 1;
  // A row that was sent before may well conflict with itself: the service is still at work on it.
  const ownConflict = status === 409 && !first;
  if (error instanceof RejectedError && !ownConflict) {
    const receipt: RowReceipt = { outcome: 'rejected', status, id: null, message };
    return status === 404 || status === 405
      ? { kind: 'nothing-there', receipt }
      : { kind: 'settled', receipt };
  }
  const stop = error instanceof RefusedError || (error instanceof TransientError && error.reason === 'hold');
  if (stop && first) return { kind: 'unsent', stop: error };
  const said = error instanceof BrokenPromiseError ? 'the answer could not be read' : message;
  return { kind: 'doubt', status, message: said, stop: stop ? error : null };
}
