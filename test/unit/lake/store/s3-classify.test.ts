import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ObjectNotFoundError, StoreError } from '../../../../src/lake/store/index.js';
import { fullCrc32 } from '../../../../src/lake/store/s3/read.js';
import { toStoreError } from '../../../../src/lake/store/s3/s3-errors.js';
import { isConflict } from '../../../../src/lake/store/s3/write.js';

const CONTEXT = { operation: 'read', key: 'a/b', bucket: 'lake', endpoint: 'http://127.0.0.1:9000' };

function answered(name: string, status: number | null, fields: object = {}): Error {
  const metadata = status === null ? {} : { $metadata: { httpStatusCode: status } };
  return Object.assign(new Error(`${name} happened.`), { name, ...metadata, ...fields });
}

describe('Errors of S3', () => {
  it.each([
    ['NoSuchKey', 404, 'not-found', false],
    ['NotFound', 404, 'not-found', false],
    ['NoSuchBucket', 404, 'missing-bucket', false],
    ['AccessDenied', 403, 'access-denied', false],
    ['Unknown', 403, 'access-denied', false],
    ['InvalidAccessKeyId', 403, 'bad-credentials', false],
    ['SignatureDoesNotMatch', 403, 'bad-credentials', false],
    ['ExpiredToken', 400, 'expired-credentials', true],
    ['CredentialsProviderError', null, 'bad-credentials', false],
    ['RequestTimeTooSkewed', 403, 'clock-skew', true],
    ['SlowDown', 503, 'throttled', true],
    ['NoSuchUpload', 404, 'upload-gone', true],
    ['ServiceUnavailable', 503, 'throttled', true],
    ['TooManyRequests', 429, 'throttled', true],
    ['InternalError', 500, 'unreachable', true],
    ['BadGateway', 502, 'unreachable', true],
    ['RequestTimeout', 400, 'unreachable', true],
    ['TimeoutError', null, 'unreachable', true],
    ['BadDigest', 400, 'checksum', true],
    ['PermanentRedirect', 301, 'wrong-region', false],
    ['NotImplemented', 501, 'other', false],
    ['EntityTooLarge', 400, 'other', false],
    ['TypeError', null, 'other', false],
  ])('classifies %s with status %s as %s', (name, status, kind, retryable) => {
    expect(toStoreError(answered(name, status), CONTEXT)).toMatchObject({ kind, retryable });
  });

  it('classifies network errors as an unreachable store', () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE']) {
      expect(toStoreError(answered('Error', null, { code }), CONTEXT).kind).toBe('unreachable');
    }
  });

  it.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['parts of a second', { 'retry-after': '0.5' }, 500],
    [
      'a date, by the clock of the store',
      { 'retry-after': 'Sat, 21 Nov 2026 02:00:09 GMT', date: 'Sat, 21 Nov 2026 02:00:00 GMT' },
      9000,
    ],
    ['a time since 1970', { 'retry-after': '1795226409', date: new Date(1795226400000).toUTCString() }, 9000],
    ['at most a quarter of an hour', { 'retry-after': '86400' }, 900_000],
    ['no wait', { 'retry-after': '0' }, null],
    ['no number', { 'retry-after': '-1' }, null],
    ['no header', {}, null],
  ])('reads how long a store asks to wait: %s', (_, headers, wait) => {
    const error = answered('SlowDown', 503, { $response: { headers } });
    expect(toStoreError(error, CONTEXT).retryAfterMs).toBe(wait);
  });

  it('states what happened, where, and what to do next', () => {
    const error = toStoreError(answered('NoSuchBucket', 404), CONTEXT);
    expect(error.message).toBe(
      'read of "a/b" in s3://lake failed: there is no such bucket (404 NoSuchBucket: NoSuchBucket happened). Create it at http://127.0.0.1:9000, or correct lake.url.',
    );
    expect(toStoreError(answered('NoSuchKey', 404), CONTEXT)).toBeInstanceOf(ObjectNotFoundError);
    expect(toStoreError(answered('PermanentRedirect', 301), CONTEXT).remedy).toContain('region');
  });

  it('names the setting that a denied request lacks', () => {
    const denied = (message: string) =>
      toStoreError(Object.assign(answered('AccessDenied', 403), { message }), CONTEXT).remedy;
    expect(
      denied(
        'User: arn:aws:iam::1:user/w is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::lake/a" with an explicit deny in a resource-based policy',
      ),
    ).toContain('lake.encryption');
    expect(denied('User: x is not authorized to perform: kms:GenerateDataKey on this resource')).toContain(
      'kms:Decrypt',
    );
    expect(denied('Access Denied')).toMatch(/s3:GetObject.*s3:ListBucket.*lake\.requesterPays/);
  });

  it.each([
    ['read', ['s3:GetObject', 's3:ListBucket']],
    ['head', ['s3:GetObject', 's3:ListBucket']],
    ['write', ['s3:PutObject', 'lake.encryption']],
    ['swap', ['s3:PutObject', 's3:GetObject', 'lake.encryption']],
    ['copy', ['s3:PutObject', 's3:GetObject', 'lake.encryption']],
    ['list', ['s3:ListBucket']],
    ['remove', ['s3:DeleteObject']],
    ['abortUploads', ['s3:ListBucketMultipartUploads', 's3:AbortMultipartUpload']],
  ])('names the permission that %s needs, or the one that AWS names', (operation, names) => {
    const of = (message: string) =>
      toStoreError(Object.assign(answered('AccessDenied', 403), { message }), { ...CONTEXT, operation })
        .remedy;
    for (const name of names) expect(of('Access Denied')).toContain(name);
    const aws = of(
      'User: u is not authorized to perform: s3:GetObjectTagging on resource: "x" because no policy allows it',
    );
    expect(aws).toContain('Allow s3:GetObjectTagging');
  });

  it('carry the words of the store, and how long it asks to wait', () => {
    const limited = (header: string) => {
      const response = { $response: { headers: { 'retry-after': header } } };
      return toStoreError(answered('SlowDown', 503, response), CONTEXT);
    };
    expect(limited('7')).toMatchObject({
      kind: 'throttled',
      said: '503 SlowDown: SlowDown happened',
      retryAfterMs: 7000,
    });
    const date = limited(new Date(Date.now() + 60_000).toUTCString()).retryAfterMs!;
    expect(date).toBeGreaterThan(50_000);
    expect(date).toBeLessThanOrEqual(60_000);
    expect(limited('soon').retryAfterMs).toBeNull();
    expect(limited('86400').retryAfterMs).toBe(15 * 60_000);
    for (const name of ['NoSuchBucket', 'InvalidPart', 'NotImplemented', 'AccessDenied'])
      expect(toStoreError(answered(name, 400), CONTEXT).message).toContain(`400 ${name}: ${name} happened`);
  });

  it('says that there are no credentials, instead of calling them not accepted', () => {
    const none = toStoreError(answered('CredentialsProviderError', null), CONTEXT).message;
    expect(none).toContain('no credentials were found');
    expect(toStoreError(answered('InvalidAccessKeyId', 403), CONTEXT).message).toContain('not accepted');
  });

  it('keeps only code and message of a refused signature', () => {
    const error = toStoreError(
      answered('SignatureDoesNotMatch', 403, { AWSAccessKeyId: 'AKIA-HUSH', StringToSign: 'AWS4-HUSH' }),
      CONTEXT,
    );
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('HUSH');
    expect(error.cause).toMatchObject({ name: 'SignatureDoesNotMatch', status: 403 });
  });

  it('passes store errors on unchanged', () => {
    const error = toStoreError(answered('SlowDown', 503), CONTEXT);
    expect(error).toBeInstanceOf(StoreError);
    expect(toStoreError(error, CONTEXT)).toBe(error);
  });
});

describe('Answers to conditional writes', () => {
  const said = (name: string, status: number) => ({
    name,
    status,
    code: null,
    message: '',
    requestId: null,
    retryAfterMs: null,
    region: null,
  });

  it('are conflicts if the condition failed or another write was in progress', () => {
    expect(isConflict(said('PreconditionFailed', 412), 'absent')).toBe(true);
    expect(isConflict(said('ConditionalRequestConflict', 409), { etag: '"1"' })).toBe(true);
    expect(isConflict(said('NoSuchKey', 404), { etag: '"1"' })).toBe(true);
  });

  it('are errors for any other failure', () => {
    expect(isConflict(said('NoSuchBucket', 404), { etag: '"1"' })).toBe(false);
    expect(isConflict(said('ObjectParentIsFile', 409), 'absent')).toBe(false);
    expect(isConflict(said('InternalError', 500), 'absent')).toBe(false);
  });
});

describe('Checksums of S3', () => {
  it('are those of whole objects or none', () => {
    expect(fullCrc32('a9ccsg==', 'FULL_OBJECT')).toBe('6bd71cb2');
    expect(fullCrc32('a9ccsg==', undefined)).toBe('6bd71cb2');
    expect(fullCrc32('0n1OSA==-2', 'COMPOSITE')).toBeNull();
    expect(fullCrc32('0n1OSA==-2', undefined)).toBeNull();
    expect(fullCrc32(undefined, undefined)).toBeNull();
  });
});
