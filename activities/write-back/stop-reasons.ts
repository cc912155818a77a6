import type { ApplicationFailure } from '@temporalio/activity';
import { roughly, ServiceError, TransientError } from '../../src/api/index.js';
import { finalFailure, transientFailure } from '../../src/run/failures.js';

/**
 * Converts an error that stopped a batch into a failure for Temporal. The failure contains neither the request's URL nor
 * the service's message: both can contain row values, which must not reach a history (docs/explanation/guarantees.md#secrets).
 */
export function stopFailure(error: unknown, resource: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  return transientFailure(`${resource}: ${describeCause(error)}`, error.retryAfterMs);
}

function describeCause(error: ServiceError): string {
  if (error.status !== null) return `the service answered ${error.status}`;
  if (!(error instanceof TransientError)) return "the service's response could not be read";
  if (error.reason === 'hold') return 'the service has asked this connection to wait';
  if (error.reason === 'expired') return 'this worker took too long to send its rows';
  return error.reason === 'timeout'
    ? 'the service did not answer in time'
    : 'the service could not be reached, or closed the connection';
}

/**
 * The failure of an attempt with rows that were tried and have no outcome.
 *
 * @param lastStatus of the last response that left a row without an outcome; `null` if there was none
 */
export function unsettledFailure(
  resource: string,
  rows: number,
  lastStatus: number | null,
): ApplicationFailure {
  return transientFailure(`${resource}: ${describeUnsettled(rows, lastStatus)}; see results.csv`);
}

function describeUnsettled(rows: number, lastStatus: number | null): string {
  if (rows === 0) return 'not all rows have an outcome';
  const which = `${rows} ${rows === 1 ? 'row has' : 'rows have'} no known outcome`;
  if (lastStatus === null) return which;
  const redirect = lastStatus >= 300 && lastStatus < 400 ? ', a redirect, which a write does not follow' : '';
  return `${which}, and the service last answered ${lastStatus}${redirect}`;
}

/** The failure of a batch whose service asks for a longer wait than `retries.giveUpAfter`. */
export function quotaFailure(resource: string, { status }: ServiceError, waitMs: number): ApplicationFailure {
  const end = new Date(Date.now() + waitMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return finalFailure(
    'Transient',
    `${resource}: the service answered ${status} and asks to wait ${roughly(waitMs)}, until ${end}, which is longer than ` +
      'retries.giveUpAfter, so the batch ends now. The rest is not sent: run the same command again after that.',
  );
}

export function endpointMissing(resource: string, path: string, rows: number): ApplicationFailure {
  return finalFailure(
    'Configuration',
    `${resource}: the service has no endpoint for writes at "${path}": it answered 404 or 405 to ${rows === 1 ? 'the first row' : `each of the first ${rows} rows`} and ` +
      `accepted none. Correct writeBack.${resource} (path, style) in the configuration, and run the same command again. ` +
      'If the service does not find what these rows name, correct the rows.',
  );
}
