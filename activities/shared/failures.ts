import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { type RefusedError, ServiceError, TransientError } from '../../src/api/index.js';
import type { FailureType } from '../../src/core/contract/index.js';
import { errorMessage, isAbort, WorktrackError } from '../../src/core/errors.js';
import { cutText, MAX_MESSAGE_BYTES } from '../../src/core/text-budget.js';
import { StoreError } from '../../src/lake/store/index.js';

/** A message enters the history with each attempt, and then the report, so it has a budget. */
function shown(message: string): string {
  return cutText(message, MAX_MESSAGE_BYTES);
}

/** Creates a failure that Temporal does not retry. */
export function finalFailure(type: FailureType, message: string, detail?: object): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: shown(message),
    nonRetryable: true,
    ...(detail === undefined ? {} : { details: [detail] }),
  });
}

/** Creates a failure that Temporal retries. @param retryAfterMs the wait that the service requested */
export function transientFailure(message: string, retryAfterMs: number | null = null): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'Transient' satisfies FailureType,
    message: shown(message),
    ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.max(retryAfterMs, 1) }),
  });
}

/**
 * Creates a failure that Temporal retries, for a refusal that seems to be a limit. If it outlasts the retries, the run is
 * refused by the service.
 */
function refusedForNow(error: TransientError, refusal: RefusedError): ApplicationFailure {
  const { retryAfterMs } = error;
  return ApplicationFailure.create({
    type: 'Refused' satisfies FailureType,
    message: shown(error.describe()),
    nonRetryable: !error.retryable,
    details: [refusal.failureDetail],
    ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.max(retryAfterMs, 1) }),
  });
}

/**
 * Converts an error into a failure for Temporal. The code of the error decides the type, and with it whether Temporal
 * retries the activity. Causes are dropped, because only messages have been redacted. A cancellation is returned unchanged.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure || isAbort(error))
    return error;
  const service = error instanceof ServiceError ? error : null;
  const refusal = error instanceof TransientError ? error.refusal : null;
  if (error instanceof TransientError && refusal !== null) return refusedForNow(error, refusal);
  if (error instanceof WorktrackError && error.failureType !== null) {
    return error.retryable
      ? transientFailure(error.describe(), service?.retryAfterMs ?? storeWait(error))
      : finalFailure(error.failureType, error.describe(), service?.failureDetail);
  }
  // Only the message is kept: the error's other fields have not been redacted.
  const message = shown(errorMessage(error));
  // A document in the lake is not valid. The messages of our own parsers quote nothing (`parseStored`).
  if (error instanceof SyntaxError) return finalFailure('Lake', message);
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) {
    const defect = `Unexpected error in the connector (${error.name}: ${message}). Please report it.`;
    return ApplicationFailure.create({ message: defect, nonRetryable: true });
  }
  return ApplicationFailure.create({ message });
}

/** How long a store asked to wait, ms. */
function storeWait(error: WorktrackError): number | null {
  return error instanceof StoreError ? error.retryAfterMs : null;
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
