import {
  BrokenPromiseError,
  isSuccess,
  RefusedError,
  RejectedError,
  type SendAnswer,
  type SentBefore,
  ServiceError,
  TransientError,
} from '../../src/api/index.js';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { errorMessage, WorktrackError } from '../../src/core/errors.js';
import type { RowReceipt, Said } from '../../src/write-back/plan-file.js';
import {
  differencesOf,
  hiddenFields,
  type RecordDifferences,
} from '../../src/write-back/record-differences.js';
import { judgeResponse, toRequest, type WriteVerdict } from '../../src/write-back/write-request.js';
import type { RowTask, SendAttemptOptions } from './open-chunk.js';

export interface Refusal {
  readonly error: RefusedError;
  /** Whether an earlier request may have written the row. The refusal does not show that. */
  readonly inDoubt: boolean;
}

export type RequestOutcome =
  | { readonly kind: 'settled'; readonly receipt: RowReceipt }
  /** A complete response leaves the outcome unknown. Another request in this run would get the same response. */
  | ({ readonly kind: 'unclear' } & Said)
  /** The row may have been written. `stop`: why the attempt must send no other row; `null` if it may. */
  | ({ readonly kind: 'in-doubt'; readonly stop: unknown } & Said)
  /** This attempt did not write the row. `stop` as above. */
  | { readonly kind: 'unsent'; readonly stop: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Only its words show that the refusal is about a limit. */
  | { readonly kind: 'limited'; readonly refusal: Refusal }
  /** The service answered 404 or 405: there may be no endpoint at the path. */
  | { readonly kind: 'endpoint-missing'; readonly receipt: RowReceipt };

/** What happens to a request. */
export interface RequestEvents {
  readonly signal: AbortSignal;
  readonly onWait: (untilMs: number) => void;
  readonly onRefused: () => void;
}

/** Sends the request for one row, within the connection's rate budget. Never throws. */
export async function sendRowRequest(
  { row, before, notAfter }: RowTask,
  {
    connection,
    clock,
    input,
    sending,
  }: Pick<SendAttemptOptions, 'connection' | 'clock' | 'input' | 'sending'>,
  { signal, onWait, onRefused }: RequestEvents,
): Promise<RequestOutcome> {
  const { resource } = input;
  const ageMs = (): number => clock.now() - (notAfter - connection.settings.writeBack.unknownAfterMs);
  const isExpired = (inMs: number): boolean => clock.now() + inMs > notAfter;
  try {
    const { idempotencyKey } = row;
    const { writeBack } = connection.settings;
    const { method, path, body } = toRequest(row, sending);
    const context = { resource, rule: writeBack[resource], row };
    const { ignore } = writeBack[resource];
    const isHidden = hiddenFields(connection.settings, resource);
    const outcome = await connection.client.send(
      {
        ...{ resource, method, path, body, before, isExpired, signal, onWait, onRefused },
        ...{ idempotencyKey, keyHeader: sending.header, repeat: sending.repeat },
      },
      (text, facts) => {
        const verdict = judgeResponse(text, facts, context);
        const found =
          verdict.kind === 'record' && verdict.record !== null
            ? differencesOf(row, verdict.record, { ignore, isHidden, redact: facts.shown })
            : null;
        return { ...verdict, found };
      },
    );
    switch (outcome.kind) {
      case 'answered':
        return answered(outcome.answer, resource);
      case 'not-sent':
        return notSent(outcome.error, before);
      case 'in-doubt':
        return inDoubt(outcome.error, signal, ageMs());
    }
  } catch (error) {
    // An unexpected error: the request may have been sent.
    return inDoubt(error, signal, ageMs());
  }
}

/** What a response shows about a row, and how its record differs from it. */
type ComparedVerdict = WriteVerdict & { readonly found: RecordDifferences | null };

function answered(answer: SendAnswer<ComparedVerdict>, resource: WritableResource): RequestOutcome {
  switch (answer.verdict) {
    case 'accepted': {
      const { status, value } = answer.received;
      if (value.kind === 'unclear') return { kind: 'unclear', status, message: value.message };
      const outcome = resource === 'time-entries' || status === 201 ? 'created' : 'updated';
      const found = value.found === null ? {} : { found: value.found };
      return { kind: 'settled', receipt: { outcome, status, id: value.id, message: null, ...found } };
    }
    case 'refused':
      return { kind: 'refused', refusal: { error: answer.error, inDoubt: false } };
    case 'limited':
      return limited(answer.error, false) ?? { kind: 'unsent', stop: null };
    case 'rejected': {
      const { status } = answer.error;
      const receipt = rejected(answer.error);
      return status === 404 || status === 405
        ? { kind: 'endpoint-missing', receipt }
        : { kind: 'settled', receipt };
    }
  }
}

/** A refusal whose only evidence for a limit are words. Better evidence makes it transient, like a 429. */
function limited({ evidence, refusal }: TransientError, isInDoubt: boolean): RequestOutcome | null {
  if (refusal === null || evidence !== 'words') return null;
  return { kind: 'limited', refusal: { error: refusal, inDoubt: isInDoubt } };
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

/** Statuses that can also mean that the service still processes the earlier request, and how long it may, ms. */
const IN_PROGRESS: readonly number[] = [409, 423];
const MAX_PROGRESS_MS = 15 * MINUTE_MS;

/** Whether another request in this run would get the same response. @param ageMs since the first request for the row */
function isFinalRejection({ status }: RejectedError, ageMs: number): boolean {
  if (status === null || status < 400 || status >= 500 || status === 408) return false;
  return !IN_PROGRESS.includes(status) || ageMs > MAX_PROGRESS_MS;
}

/** @param ageMs since the first request for the row */
function inDoubt(error: unknown, signal: AbortSignal, ageMs: number): RequestOutcome {
  if (!(error instanceof ServiceError)) {
    const message = signal.aborted ? 'the batch was stopped before the response arrived' : describe(error);
    return { kind: 'in-doubt', status: null, message, stop: signal.aborted ? null : error };
  }
  if (error instanceof RefusedError) return { kind: 'refused', refusal: { error, inDoubt: true } };
  if (error instanceof BrokenPromiseError)
    return { kind: 'unclear', status: error.status, message: 'the response could not be read' };
  const message = error.serviceMessage ?? error.message;
  // It does not show what the earlier request did.
  if (error instanceof RejectedError && isFinalRejection(error, ageMs))
    return { kind: 'unclear', status: error.status, message };
  if (error instanceof TransientError) {
    const found = limited(error, true);
    if (found !== null) return found;
    // Complete, with a status of success, and repeatedly no JSON.
    const isUnreadable = error.reason === 'body' || error.reason === 'cut';
    if (isUnreadable && error.status !== null && isSuccess(error.status))
      return { kind: 'unclear', status: error.status, message };
  }
  const stops = error instanceof TransientError && error.reason === 'hold';
  return { kind: 'in-doubt', status: error.status, message, stop: stops ? error : null };
}

function describe(error: unknown): string {
  return error instanceof WorktrackError ? error.describe() : errorMessage(error);
}
