import { ObjectNotFoundError, StoreError, type StoreErrorKind } from '../errors.js';
import { isMissingObject, readAnswer, toCause, wordsOf } from './s3-answer.js';
import { judgeAnswer, type S3Context } from './s3-causes.js';

/** Converts an SDK error to a StoreError. StoreErrors are returned unchanged. */
export function toStoreError(error: unknown, context: S3Context): StoreError {
  if (error instanceof StoreError) return error;
  const answer = readAnswer(error);
  const bucket = `s3://${context.bucket}`;
  const where = {
    ...{ operation: context.operation, key: context.key, bucket, cause: toCause(error) },
    ...(answer.status === null ? {} : { said: wordsOf(answer) }),
    ...(answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }),
  };
  if (isMissingObject(answer) && context.key !== null)
    return new ObjectNotFoundError({ ...where, key: context.key });
  return new StoreError({ ...where, ...judgeAnswer(answer, context) });
}

/**
 * Whether the store refused the request itself, so that another kind of request may be accepted. Not for credentials,
 * a missing bucket or object, or limits.
 */
export function isRefusal(error: unknown): error is StoreError {
  if (!(error instanceof StoreError)) return false;
  const status = statusOf(error);
  if (status === null) return false;
  return REFUSED_KINDS.includes(error.kind) && (status === 501 || (status >= 400 && status < 500));
}

const REFUSED_KINDS: readonly StoreErrorKind[] = ['access-denied', 'other', 'checksum'];

/** HTTP status of the answer that caused an error; null if there was none. */
export function statusOf({ cause }: StoreError): number | null {
  const status = typeof cause === 'object' && cause !== null && 'status' in cause ? cause.status : null;
  return typeof status === 'number' ? status : null;
}
