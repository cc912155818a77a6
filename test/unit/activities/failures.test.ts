import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { BrokenPromiseError, RefusedError, TransientError } from '../../../src/api/index.js';
import { exitCodeOf } from '../../../src/cli/shared/choose-exit-code.js';
import { ConfigurationError, ERROR_CODES, type ErrorCode, WorktrackError } from '../../../src/core/errors.js';
import { StoreError } from '../../../src/lake/store/index.js';
import { toFailure } from '../../../src/run/failures.js';
import { toRunError } from '../../../workflows/shared/run-errors.js';
import { failed } from '../cli/support.js';

class AnyError extends WorktrackError {
  constructor(readonly code: ErrorCode) {
    super('It failed.', { remedy: 'Do this.' });
  }
}

const resource = 'tasks';
const codes = Object.entries(ERROR_CODES).map(([code, of]) => [code as ErrorCode, of.failureType] as const);

describe('the failure that an activity reports', () => {
  it.each(codes)('the failure of %s has the type %s, and Temporal retries only Transient', (code, type) => {
    expect(toFailure(new AnyError(code))).toMatchObject({
      type: type ?? undefined,
      message: 'It failed. Do this.',
      nonRetryable: type !== null && type !== 'Transient',
    });
  });

  it.each(codes)('the failure of %s leads back to the type %s in the report', (code, type) => {
    expect(toRunError(toFailure(new AnyError(code))).type).toBe(type ?? 'Failed');
  });

  it('the failure of a refusal says what is refused', () => {
    const error = new RefusedError('no', { resource, scope: 'grant', status: 403 });
    expect(toFailure(error)).toMatchObject({
      type: 'Refused',
      details: [{ scope: 'grant', status: 403, resource: 'tasks' }],
    });
    expect(toRunError(toFailure(error))).toEqual({ type: 'Refused', message: 'no', scope: 'grant' });
  });

  it('the failure of a refusal that seems to be a limit is retried, and is a refusal if the retries end', () => {
    const refusal = new RefusedError('no', { resource, scope: 'plan', status: 403 });
    const options = { resource, refusal, reason: 'status', evidence: 'words', retryAfterMs: 7000 } as const;
    const failure = toFailure(new TransientError('a limit, or no', options));
    expect(failure).toMatchObject({ type: 'Refused', nonRetryable: false, nextRetryDelay: 7000 });
    expect(toRunError(failure)).toEqual({ type: 'Refused', message: 'a limit, or no', scope: 'plan' });
  });

  it('the failure of a broken promise names the resource', () => {
    expect(toFailure(new BrokenPromiseError('odd', { resource }))).toMatchObject({
      type: 'BrokenPromise',
      details: [{ resource: 'tasks' }],
    });
  });

  it('the failure of a transient error waits as long as the service asks', () => {
    const error = (retryAfterMs: number | null) =>
      new TransientError('later', { reason: 'status', retryAfterMs });
    expect(toFailure(error(5000))).toMatchObject({ type: 'Transient', nextRetryDelay: 5000 });
    expect(toFailure(error(0))).toMatchObject({ nextRetryDelay: 1 });
    expect(toFailure(error(null))).not.toHaveProperty('nextRetryDelay', expect.anything());
  });

  it('the failure of the lake depends on whether a retry can succeed', () => {
    const details = { operation: 'read', key: null, bucket: 's3://b', problem: 'no', remedy: 'Do it.' };
    const failure = (kind: StoreError['kind']) => toFailure(new StoreError({ kind, ...details }));
    expect(failure('unreachable')).toMatchObject({ type: 'Transient', nonRetryable: false });
    expect(failure('access-denied')).toMatchObject({ type: 'Lake', nonRetryable: true });
    expect(failure('other')).toMatchObject({ message: 'read of s3://b failed: no. Do it.' });
  });

  it('the failure of an invalid document is final, and of a defect asks for a report', () => {
    expect(toFailure(new SyntaxError('not JSON'))).toMatchObject({ type: 'Lake', nonRetryable: true });
    const defect = { nonRetryable: true, message: expect.stringContaining('(TypeError: x is undefined)') };
    expect(toFailure(new TypeError('x is undefined'))).toMatchObject(defect);
  });

  it('the failure of any other error is retried and has no type', () => {
    expect(toFailure('odd')).toMatchObject({ message: 'odd', nonRetryable: false, type: undefined });
  });

  it('leaves a cancellation and a failure unchanged', () => {
    const abort = Object.assign(new Error('aborted'), { name: 'AbortError' });
    for (const error of [new CancelledFailure('x'), ApplicationFailure.create({ message: 'x' }), abort])
      expect(toFailure(error)).toBe(error);
  });

  it('carries the remedy, because a history has only the message', () => {
    const error = new ConfigurationError('The key is not set.', { remedy: 'Set it.' });
    expect(toFailure(error)).toMatchObject({ message: 'The key is not set. Set it.' });
  });

  it.each([
    ['Refused', 3],
    ['Configuration', 2],
    ['Transient', 1],
    ['BrokenPromise', 1],
    ['DeletesHeld', 1],
    ['Check', 1],
    ['Lake', 1],
    ['Displaced', 1],
    ['VerificationFailed', 1],
    ['Failed', 1],
  ] as const)('the failure of the type %s ends an export with exit code %i', (type, code) => {
    const run = failed(type);
    expect(exitCodeOf({ outcome: run.outcome, runs: [run] })).toBe(code);
  });
});
