import {
  BrokenPromiseError,
  RefusedError,
  RejectedError,
  type SendAnswer,
  type SentBefore,
  ServiceError,
  TransientError,
} from '../../src/api/index.js';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import { errorMessage, WorktrackError } from '../../src/core/errors.js';
import { type RowReceipt, responseId, toRequest } from '../../src/write-back/index.js';
import type { OpenConnection } from '../shared/deps.js';
import type { RowTask } from './open-chunk.js';

/** How the request for a row ended. */
export type RequestOutcome =
  | { readonly kind: 'settled'; readonly receipt: RowReceipt }
  /** The row may have been written. `stop`: why the attempt must send no other row; `null` if it may. */
  | {
      readonly kind: 'in-doubt';
      readonly status: number | null;
      readonly message: string;
      readonly stop: unknown;
    }
  /** This attempt did not write the row. `stop` as above. */
  | { readonly kind: 'unsent'; readonly stop: unknown }
  /** The service answered 404 or 405: there may be no endpoint at the path. */
  | { readonly kind: 'endpoint-missing'; readonly receipt: RowReceipt };

interface RowRequestOptions {
  readonly connection: OpenConnection;
  readonly resource: WritableResource;
  readonly signal: AbortSignal;
  readonly onWait: (untilMs: number) => void;
}

/** Sends the request for one row, within the connection's rate budget. Never throws. */
export async function sendRowRequest(
  { row, before, notAfter }: RowTask,
  options: RowRequestOptions,
): Promise<RequestOutcome> {
  const { connection, resource, signal, onWait } = options;
  try {
    const { idempotencyKey } = row;
    const { method, path, body } = toRequest(resource, row, connection.settings.writeBack);
    const outcome = await connection.client.send(
      { resource, method, path, body, idempotencyKey, before, notAfter, signal, onWait },
      responseId,
    );
    switch (outcome.kind) {
      case 'answered':
        return answered(outcome.answer, resource);
      case 'not-sent':
        return notSent(outcome.error, before);
      case 'in-doubt':
        return inDoubt(outcome.error, signal);
    }
  } catch (error) {
    // An unexpected error: the request may have been sent.
    return inDoubt(error, signal);
  }
}

function answered(answer: SendAnswer<string | null>, resource: WritableResource): RequestOutcome {
  switch (answer.verdict) {
    case 'accepted': {
      const { status, value: id } = answer.received;
      const outcome = resource === 'time-entries' || status === 201 ? 'created' : 'updated';
      const message = id === null ? 'the response has no id' : null;
      return { kind: 'settled', receipt: { outcome, status, id, message } };
    }
    case 'refused':
      return { kind: 'unsent', stop: answer.error };
    case 'rejected': {
      const { status } = answer.error;
      const receipt = rejected(answer.error);
      return status === 404 || status === 405
        ? { kind: 'endpoint-missing', receipt }
        : { kind: 'settled', receipt };
    }
  }
}

function rejected(error: RejectedError): RowReceipt {
  return {
    outcome: 'rejected',
    status: error.status,
    id: null,
    message: error.serviceMessage ?? error.message,
  };
}

function notSent(error: unknown, before: SentBefore): RequestOutcome {
  // The row's name does not fit into a URL, so no attempt has sent it.
  if (error instanceof RejectedError && before === 'never')
    return { kind: 'settled', receipt: rejected(error) };
  // After a connection error, other rows may still be sent.
  const isTransient = error instanceof TransientError && error.reason !== 'hold';
  return { kind: 'unsent', stop: isTransient ? null : error };
}

function inDoubt(error: unknown, signal: AbortSignal): RequestOutcome {
  if (!(error instanceof ServiceError)) {
    const message = signal.aborted ? 'the batch was stopped before the response arrived' : describe(error);
    return { kind: 'in-doubt', status: null, message, stop: signal.aborted ? null : error };
  }
  const message =
    error instanceof BrokenPromiseError
      ? 'the response could not be read'
      : (error.serviceMessage ?? error.message);
  const stops = error instanceof RefusedError || (error instanceof TransientError && error.reason === 'hold');
  return { kind: 'in-doubt', status: error.status, message, stop: stops ? error : null };
}

function describe(error: unknown): string {
  return error instanceof WorktrackError ? error.describe() : errorMessage(error);
}
