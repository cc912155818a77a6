import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import { type ExportResult, FAILURES, type RunError, runErrorType } from '../../src/core/contract/index.js';
import type { WriteBackResult } from '../../src/core/contract/write-back.js';
import { errorMessage } from '../../src/core/errors.js';
import type { RunFailure } from '../../src/core/mirror-requests.js';
import { cutText, MAX_MESSAGE_BYTES } from '../../src/core/text-budget.js';

/** The error that ended a run, for the report. The innermost failure has the message; the outer ones only wrap it. */
export function toRunError(error: unknown): RunError {
  const found = runError(error);
  // A failure that this connector did not create can have a message of any length.
  return { ...found, message: cutText(found.message, MAX_MESSAGE_BYTES) };
}

function runError(error: unknown): RunError {
  const failure = innermost(error);
  if (failure instanceof ApplicationFailure) {
    const { scope, checks } = failureDetail(failure);
    const about = { ...(scope && { scope }), ...(checks && { checks }) };
    return { type: runErrorType(failure.type), message: failure.message, ...about };
  }
  if (failure instanceof TimeoutFailure) {
    const last = lastAttempt(failure);
    if (last !== null) return last;
    return { type: 'Transient', message: `gave up: ${failure.message}. Check that a worker is running.` };
  }
  return { type: 'Failed', message: errorMessage(failure) };
}

/**
 * The error of the last attempt before the timeout. The server sends it as the cause of the timeout, but the SDK drops
 * that cause (seen in 1.24.0). Only the raw failure has it, as plain text unless a codec has encoded its attributes.
 */
function lastAttempt({ failure }: TimeoutFailure): RunError | null {
  const cause = failure?.cause;
  if (!cause?.message || cause.encodedAttributes) return null;
  return { type: runErrorType(cause.applicationFailureInfo?.type), message: `gave up: ${cause.message}` };
}

/** What a failure of our activities says besides its message. */
type FailureDetail = Pick<RunFailure, 'isOvertaken' | 'newerId' | 'unread' | 'hookedTo'> &
  Pick<RunError, 'scope' | 'checks'>;

/** The first detail of the innermost failure. */
function failureDetail(error: unknown): FailureDetail {
  const failure = innermost(error);
  const [detail] = ((failure instanceof ApplicationFailure && failure.details) || []) as FailureDetail[];
  return detail ?? {};
}

/** Unwraps activity failures and timeouts. The error of the last attempt says more than the timeout. */
function innermost(error: unknown): unknown {
  let found = error;
  while (found instanceof ActivityFailure || (found instanceof TimeoutFailure && found.cause !== undefined)) {
    if (found.cause === undefined) break;
    found = found.cause;
  }
  return found;
}

export function toOutcome(error: unknown): 'failed' | 'refused' | 'cancelled' {
  return isCancellation(error) ? 'cancelled' : FAILURES[toRunError(error).type].outcome;
}

/** A failure, as the report of its run and the rules of its mirror see it. */
export function failureOf(error: unknown): RunFailure {
  const { isOvertaken, newerId, unread, hookedTo } = failureDetail(error);
  return {
    ...{ outcome: toOutcome(error), error: toRunError(error) },
    ...(isOvertaken !== undefined && { isOvertaken }),
    ...(newerId !== undefined && { newerId }),
    ...(unread !== undefined && { unread }),
    ...(hookedTo !== undefined && { hookedTo }),
  };
}

/**
 * The result inside the failure of a child workflow that ran an export, backfill, rollback or purge. A workflow where
 * a resource fails throws, and its failure has the outcome of every resource.
 *
 * @throws the error itself if it has no such result, for example a cancellation
 * @example
 * const exported = await executeChild(exportWorkflow, { args: [{ connection: 'acme' }] }).catch(exportResultOfChild);
 * const failed = exported.runs.filter(({ outcome }) => outcome !== 'published');
 */
export function exportResultOfChild(error: unknown): ExportResult {
  return detailOf<ExportResult>(error, 'ExportFailed');
}

/**
 * The result inside the failure of a child workflow that wrote rows back.
 *
 * @throws the error itself if it has no such result, for example a cancellation
 * @example
 * const workflowId = writeBackWorkflowId(input);
 * const written = await executeChild(writeBackWorkflow, { workflowId, args: [input] }).catch(writeBackResultOfChild);
 * console.log(written.counts.created);
 */
export function writeBackResultOfChild(error: unknown): WriteBackResult {
  return detailOf<WriteBackResult>(error, 'WriteBackFailed');
}

/** Our own workflows write these details, so their type is known. */
function detailOf<Result>(error: unknown, type: string): Result {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined;
  const details = cause instanceof ApplicationFailure && cause.type === type ? cause.details : undefined;
  if (details?.[0] === undefined) throw error;
  return details[0] as Result;
}
