import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { RefusedError, ServiceError, TransientError } from '../../src/api/index.js';
import { ConfigurationError } from '../../src/core/configuration-error.js';
import type { FailureType } from '../../src/core/contract/index.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { StoreError } from '../../src/lake/store/index.js';
import { TableError } from '../../src/table/index.js';

/** Creates a failure that Temporal does not retry. */
export function finalFailure(type: FailureType, message: string, detail?: object): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    ...(detail === undefined ? {} : { details: [detail] }),
  });
}

/**
 * Converts an error into a failure for Temporal: its type, whether Temporal retries the activity, and after what delay.
 * Causes are dropped, because only messages have been redacted. A cancellation is returned unchanged.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure || isAbort(error))
    return error;
  if (error instanceof RefusedError) {
    return finalFailure('Refused', error.message, {
      scope: error.scope,
      status: error.status,
      resource: error.resource,
    });
  }
  if (error instanceof TransientError) {
    return ApplicationFailure.create({
      type: 'Transient' satisfies FailureType,
      message: error.message,
      ...(error.retryAfterMs === null ? {} : { nextRetryDelay: Math.max(error.retryAfterMs, 1) }),
    });
  }
  if (error instanceof ServiceError)
    return finalFailure('BrokenPromise', error.message, { resource: error.resource });
  if (error instanceof ConfigurationError) {
    return finalFailure('Configuration', [error.message, error.remedy].filter(Boolean).join(' '));
  }
  if (error instanceof TableError) return finalFailure('Configuration', error.message);
  if (error instanceof StoreError) {
    const type: FailureType = error.retryable ? 'Transient' : 'Lake';
    return ApplicationFailure.create({ type, message: error.message, nonRetryable: !error.retryable });
  }
  if (error instanceof DamagedError || error instanceof SyntaxError)
    return finalFailure('Lake', error.message);
  // Only the message is kept: the error's other fields have not been redacted.
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) {
    const defect = `Unexpected error in the connector (${error.name}: ${message}). Please report it.`;
    return ApplicationFailure.create({ message: defect, nonRetryable: true });
  }
  return ApplicationFailure.create({ message });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
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
