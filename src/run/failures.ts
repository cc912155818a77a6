import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { ServiceError, TransientError } from '../api/index.js';
import type { Millis } from '../core/brands.js';
import type { FailureType } from '../core/contract/index.js';
import { errorMessage, isAbort, WorktrackError } from '../core/errors.js';
import { redactKnown } from '../core/known-secrets.js';
import { durableWait } from '../core/long-retry-after.js';
import { cutText, MAX_MESSAGE_BYTES } from '../core/text-budget.js';
import { StoreError } from '../lake/store/index.js';
import { UnreadDocumentError } from './staged-documents.js';

interface FailureOptions {
  readonly nonRetryable: boolean;
  readonly detail?: object | undefined;
  /** The wait that the service requested; `null`: none. */
  readonly retryAfterMs?: Millis | null;
}

function failure(
  type: FailureType,
  message: string,
  { nonRetryable, detail, retryAfterMs = null }: FailureOptions,
): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    // It enters the history with each attempt, and then the report, so it has a budget.
    message: cutText(redactKnown(message), MAX_MESSAGE_BYTES),
    nonRetryable,
    ...(detail === undefined ? {} : { details: [detail] }),
    ...durableWait(retryAfterMs),
  });
}

/** Creates a failure that Temporal does not retry. */
export function finalFailure(type: FailureType, message: string, detail?: object): ApplicationFailure {
  return failure(type, message, { nonRetryable: true, detail });
}

/** Creates a failure that Temporal retries. @param retryAfterMs the wait that the service requested */
export function transientFailure(message: string, retryAfterMs: number | null = null): ApplicationFailure {
  return failure('Transient', message, { nonRetryable: false, retryAfterMs });
}

/**
 * Converts an error into a failure for Temporal. The code of the error decides the type, and with it whether Temporal
 * retries the activity. Causes are dropped, because only messages have been redacted. A cancellation is returned unchanged.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure || isAbort(error))
    return error;
  const asked = error instanceof ServiceError || error instanceof StoreError ? error.retryAfterMs : null;
  if (error instanceof TransientError && error.refusal !== null) {
    // It seems to be a limit. If it outlasts the retries, the run is refused by the service.
    const detail = error.refusal.failureDetail;
    const options = { nonRetryable: !error.retryable, detail, retryAfterMs: asked };
    return failure('Refused', error.describe(), options);
  }
  if (error instanceof UnreadDocumentError) {
    const { unread } = error;
    return failure('Transient', error.describe(), { nonRetryable: false, detail: { unread } });
  }
  if (error instanceof WorktrackError && error.failureType !== null) {
    if (error.retryable) return transientFailure(error.describe(), asked);
    const detail = error instanceof ServiceError ? error.failureDetail : undefined;
    return finalFailure(error.failureType, error.describe(), detail);
  }
  // Only the message is kept: the error's other fields have not been redacted.
  const said = error instanceof WorktrackError ? error.describe() : errorMessage(error);
  const message = cutText(said, MAX_MESSAGE_BYTES);
  // A document in the lake is not valid. The messages of our own parsers quote nothing (`parseStored`).
  if (error instanceof SyntaxError) return finalFailure('Lake', message);
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) {
    const defect = `Unexpected error in the connector (${error.name}: ${message}). Please report it.`;
    return ApplicationFailure.create({ message: defect, nonRetryable: true });
  }
  return ApplicationFailure.create({ message });
}

/** Wraps an activity so that it throws only failures that workflows can classify. */
export function withFailures<Input, Output>(
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      throw toFailure(error);
    }
  };
}
