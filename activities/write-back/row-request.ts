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
import { batchCommand, type WritableResource } from '../../src/core/contract/write-back.js';
import { errorMessage, WorktrackError } from '../../src/core/errors.js';
import type { RowReceipt, Said } from '../../src/write-back/plan-file.js';
import {
  differencesOf,
  hiddenFields,
  type RecordDifferences,
} from '../../src/write-back/record-differences.js';
import { judgeResponse, toRequest, type WriteVerdict } from '../../src/write-back/write-request.js';
import type { RowTask, SendAttemptOptions } from './open-chunk.js';
import { quotaFailure } from './stop-reasons.js';

export interface Refusal {
  readonly error: ServiceError;
  /** Whether an earlier request may have written the row. The refusal does not show that. */
  readonly inDoubt: boolean;
}

export type RequestOutcome =
  | { readonly kind: 'settled'; readonly receipt: RowReceipt }
  /** A complete response leaves the outcome unknown. Another request in this run would get the same response. */
  | ({ readonly kind: 'unclear' } & Said)
  /** The row may have been written. `stop`: why the attempt must send no other row; `null` if it may. */
  | ({ readonly kind: 'in-doubt'; readonly stop: unknown } & Said)
  /** As above, after a complete answer. */
  | ({ readonly kind: 'failing'; readonly error: ServiceError } & Said)
  /** This attempt did not write the row. `stop` as above. */
  | { readonly kind: 'unsent'; readonly stop: unknown }
  /** A refusal, a 404 or a 405. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Only its words show that the refusal is about a limit. */
  | { readonly kind: 'limited'; readonly refusal: Refusal }
  /** Another request changes the same data, or is not finished. */
  | { readonly kind: 'conflict'; readonly refusal: Refusal };

/** What happens to a request. */
export interface RequestEvents {
  readonly signal: AbortSignal;
  readonly onWait: (untilMs: number) => void;
  /** The service speaks of a limit, and the request is repeated. */
  readonly onLimit: () => void;
}

/** Sends the request for one row, within the connection's rate budget. Never throws. */
export async function sendRowRequest(
  { row, before, notAfter, attempts }: RowTask,
  {
    connection,
    clock,
    input,
    sending,
  }: Pick<SendAttemptOptions, 'connection' | 'clock' | 'input' | 'sending'>,
  { signal, onWait, onLimit }: RequestEvents,
): Promise<RequestOutcome> {
  const { resource, batchId } = input;
  const remedy = newKeyRemedy(batchId, row.row);
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
        ...{ resource, method, path, body, before, isExpired, attempts, signal, onWait, onLimit },
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
        return answered(outcome.answer, resource, remedy);
      case 'not-sent':
        return notSent(outcome.error, before);
      case 'in-doubt':
        return inDoubt(outcome.error, signal, resource, remedy);
    }
  } catch (error) {
    // An unexpected error: the request may have been sent.
    return inDoubt(error, signal, resource, remedy);
  }
}

/** What a response shows about a row, and how its record differs from it. */
type ComparedVerdict = WriteVerdict & { readonly found: RecordDifferences | null };

/** Of a row that was written after a request whose outcome is not known. */
const SENT_AGAIN =
  'sent more than once: a service that ignores idempotency keys may have another record of it';

function answered(
  answer: SendAnswer<ComparedVerdict>,
  resource: WritableResource,
  remedy: string,
): RequestOutcome {
  switch (answer.verdict) {
    case 'accepted': {
      const { status, value } = answer.received;
      if (value.kind === 'unclear') return { kind: 'unclear', status, message: value.message };
      const outcome = resource === 'time-entries' || status === 201 ? 'created' : 'updated';
      const found = value.found === null ? {} : { found: value.found };
      // To repeat an upsert does no harm.
      const message = answer.isRepeated && resource === 'time-entries' ? SENT_AGAIN : null;
      return { kind: 'settled', receipt: { outcome, status, id: value.id, message, ...found } };
    }
    case 'refused':
      return { kind: 'refused', refusal: { error: answer.error, inDoubt: false } };
    case 'limited':
      return limited(answer.error, false) ?? { kind: 'unsent', stop: longWait(answer.error, resource) };
    case 'rejected':
      return passing(answer.error, false, remedy) ?? { kind: 'settled', receipt: rejected(answer.error) };
  }
}

/** A rejection that may pass; `null` for one that is about the row. */
function passing(error: RejectedError, isInDoubt: boolean, remedy: string): RequestOutcome | null {
  const refusal = { error, inDoubt: isInDoubt };
  switch (error.write?.meaning) {
    case 'missing':
      return { kind: 'refused', refusal };
    case 'conflict':
    case 'in-progress':
      return { kind: 'conflict', refusal };
    case 'stored':
      return { kind: 'unclear', status: error.status, message: storedText(error, remedy) };
    // It may say that the earlier request is not finished.
    case 'rejected':
      return isInDoubt && CONFLICTS.includes(error.status) ? { kind: 'conflict', refusal } : null;
    default:
      return null;
  }
}

const CONFLICTS: readonly (number | null)[] = [409, 423];

/** A refusal whose only evidence for a limit are words. Better evidence makes it transient, like a 429. */
function limited({ evidence, refusal }: TransientError, isInDoubt: boolean): RequestOutcome | null {
  if (refusal === null || evidence !== 'words') return null;
  return { kind: 'limited', refusal: { error: refusal, inDoubt: isInDoubt } };
}

/** The longest wait that other rows do not share. */
const SHORT_WAIT_MS = 20_000;

/** Why no other row can be sent: the service asks for a long wait; `null` if it does not. */
function longWait(error: TransientError, resource: string): unknown {
  const { patience, retryAfterMs } = error;
  if (retryAfterMs === null || retryAfterMs <= SHORT_WAIT_MS) return null;
  return patience === 'none' ? quotaFailure(resource, error, retryAfterMs) : error;
}

/** What helps a row that gets the same failure each time. */
export function newKeyRemedy(batchId: string, row: number): string {
  const command = batchCommand('resend', batchId, `--rows ${row} --new-key`);
  return `Look for the record in the service first: it may exist. If it does not: ${command}`;
}

/** Of a failure that the service has stored under the row's idempotency key. */
export function storedText({ serviceMessage, status }: ServiceError, remedy: string): string {
  const words = serviceMessage === null ? '' : `: ${serviceMessage}`;
  return `the service has stored the answer ${status} under the idempotency key and repeats it${words}. ${remedy}`;
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
  // The row's name does not fit into a URL. A row that counts as sent, as after a killed worker, is no reason to stop either.
  if (error instanceof RejectedError) {
    const receipt = rejected(error);
    const { status, message } = receipt;
    return before === 'never' ? { kind: 'settled', receipt } : { kind: 'unclear', status, message };
  }
  // After a connection error, other rows may still be sent.
  const isTransient = error instanceof TransientError && error.reason !== 'hold';
  return { kind: 'unsent', stop: isTransient ? null : error };
}

/** Whether another request in this run would get the same response. */
function isFinalRejection({ status }: RejectedError): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408;
}

function inDoubt(error: unknown, signal: AbortSignal, resource: string, remedy: string): RequestOutcome {
  if (!(error instanceof ServiceError)) {
    const message = signal.aborted ? 'the batch was stopped before the response arrived' : describe(error);
    return { kind: 'in-doubt', status: null, message, stop: signal.aborted ? null : error };
  }
  const { status, write } = error;
  if (write?.meaning === 'stored') return { kind: 'unclear', status, message: storedText(error, remedy) };
  if (error instanceof RefusedError) return { kind: 'refused', refusal: { error, inDoubt: true } };
  if (error instanceof BrokenPromiseError)
    return { kind: 'unclear', status, message: 'the response could not be read' };
  const message = error.serviceMessage ?? error.message;
  if (error instanceof RejectedError) {
    // It does not show what the earlier request did.
    const final: RequestOutcome = isFinalRejection(error)
      ? { kind: 'unclear', status, message }
      : { kind: 'in-doubt', status, message, stop: null };
    return passing(error, true, remedy) ?? final;
  }
  if (!(error instanceof TransientError)) return { kind: 'in-doubt', status, message, stop: null };
  const found = limited(error, true);
  if (found !== null) return found;
  // Complete, with a status of success, and repeatedly no JSON. A firewall's challenge is no answer about the row, and may pass.
  const isUnreadable = (error.reason === 'body' && error.evidence !== 'challenge') || error.reason === 'cut';
  if (isUnreadable && status !== null && isSuccess(status)) return { kind: 'unclear', status, message };
  const stop = error.reason === 'hold' ? error : longWait(error, resource);
  if (stop === null && write?.meaning === 'failed' && status !== null && status >= 500)
    return { kind: 'failing', status, message, error };
  return { kind: 'in-doubt', status, message, stop };
}

function describe(error: unknown): string {
  return error instanceof WorktrackError ? error.describe() : errorMessage(error);
}
