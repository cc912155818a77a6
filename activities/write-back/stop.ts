import { ApplicationFailure } from '@temporalio/activity';
import { RefusedError, ServiceError, TransientError } from '../../src/api/index.js';
import type { FailureType } from '../../src/core/contract.js';
import { finalFailure } from '../failures.js';

/**
 * What Temporal is told of an error that stopped a batch. The error's own message names the request's URL, which may
 * hold a row's key; a history must not.
 */
export function stopFailure(error: unknown, resource: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error instanceof RefusedError) {
    const { url, scope, status } = error;
    const message = url === null ? error.message : error.message.replaceAll(url, 'a row');
    return finalFailure(
      'Refused',
      `${message} Then run the same command again: what was written stays written, and is not sent again.`,
      {
        scope,
        status,
        resource,
      },
    );
  }
  const { retryAfterMs } = error;
  return ApplicationFailure.create({
    type: 'Transient' satisfies FailureType,
    message: `${resource}: ${troubleOf(error)}`,
    ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.max(retryAfterMs, 1) }),
  });
}

function troubleOf(error: ServiceError): string {
  if (error.status !== null) return `the service answered ${error.status}`;
  if (!(error instanceof TransientError)) return 'an answer of the service could not be read';
  if (error.reason === 'hold') return 'the service has asked this connection to wait';
  return error.reason === 'timeout'
    ? 'the service did not answer in time'
    : 'the service could not be reached, or broke off';
}

/** Rows that got no answer which settles them, after all others did. */
export function unsettled(resource: string, rows: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'Transient' satisfies FailureType,
    message: `${resource}: ${rows} ${rows === 1 ? 'row' : 'rows'} got no answer that settles what became of them; see the results`,
  });
}

export function nothingThere(resource: string, path: string, rows: number): ApplicationFailure {
  return finalFailure(
    'Configuration',
    `${resource}: the service has nothing to write to at "${path}": it answered 404 or 405 to ${rows === 1 ? 'the first row' : `each of the first ${rows} rows`}, and ` +
      `took none. Correct writeBack.${resource} (path, style) in the configuration, and run the same command again.`,
  );
}
