import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { RefusedError, ServiceError, TransientError } from '../src/api/index.js';
import { ConfigurationError } from '../src/core/configuration-error.js';
import type { FailureType } from '../src/core/contract.js';
import { DamagedError } from '../src/lake/damaged-error.js';
import { StoreError } from '../src/lake/store/index.js';

/** A final failure of one of the known kinds. */
export function finalFailure(type: FailureType, message: string, detail?: object): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    ...(detail === undefined ? {} : { details: [detail] }),
  });
}

/**
 * What Temporal is told of an error: which kind it is, whether another attempt is of use, and from when on. Causes
 * stay behind, for only messages have been redacted. Cancellation passes as it is.
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
  if (error instanceof StoreError) {
    const type: FailureType = error.retryable ? 'Transient' : 'Lake';
    return ApplicationFailure.create({ type, message: error.message, nonRetryable: !error.retryable });
  }
  if (error instanceof DamagedError || error instanceof SyntaxError)
    return finalFailure('Lake', error.message);
  // Only the message: what else an error carries has not been redacted.
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) {
    const defect = `a defect of the connector, please report it: ${error.name}: ${message}`;
    return ApplicationFailure.create({ message: defect, nonRetryable: true });
  }
  return ApplicationFailure.create({ message });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Wraps an activity so that everything it throws is a failure that a workflow understands. */
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
