import { describe, expect, it } from 'vitest';
import { toStoreError } from '../../../../src/lake/store/s3/s3-errors.js';

const CONTEXT = { operation: 'write', key: 'a/b', bucket: 'lake', endpoint: 'http://127.0.0.1:9000' };

interface Said {
  readonly name: string;
  readonly status?: number;
  readonly message?: string;
  readonly more?: object;
}

function failure({ name, status, message = `${name} happened.`, more }: Said) {
  const metadata = status === undefined ? {} : { $metadata: { httpStatusCode: status } };
  return toStoreError(Object.assign(new Error(message), { name, ...metadata, ...more }), CONTEXT);
}

/** What stores and the SDK say, by cause: kind, whether a retry can succeed, and words of the problem and the remedy. */
const ANSWERS: readonly (readonly [
  Said,
  kind: string,
  retryable: boolean,
  problem: RegExp,
  remedy: RegExp,
])[] = [
  [
    { name: 'KMS.DisabledException', status: 400 },
    'access-denied',
    false,
    /KMS key is disabled/,
    /Enable the key/,
  ],
  [
    { name: 'KMS.KMSInvalidStateException', status: 400 },
    'access-denied',
    false,
    /disabled, or will be deleted/,
    /cancel its deletion/,
  ],
  [
    { name: 'KMS.NotFoundException', status: 400 },
    'access-denied',
    false,
    /key does not exist/,
    /lake\.encryption/,
  ],
  [{ name: 'QuotaExceeded', status: 403 }, 'full', true, /no space left|quota/, /continues by itself/],
  [{ name: 'XMinioStorageFull', status: 507 }, 'full', true, /no space left/, /Free some space/],
  [{ name: 'XMinioAdminBucketQuotaExceeded', status: 400 }, 'full', true, /quota/, /raise the quota/],
  [{ name: 'Unknown', status: 507 }, 'full', true, /no space left/, /Free some space/],
  [{ name: 'AccountProblem', status: 403 }, 'access-denied', false, /suspended/, /permissions do not help/],
  [{ name: 'UserSuspended', status: 403 }, 'access-denied', false, /suspended/, /operator of the store/],
  [{ name: 'InvalidObjectState', status: 403 }, 'archived', false, /in an archive/, /Restore it/],
  [
    {
      name: 'PermanentRedirect',
      status: 301,
      more: { $response: { headers: { 'x-amz-bucket-region': 'eu-west-3' } } },
    },
    'wrong-region',
    false,
    /in the region eu-west-3/,
    /^Set lake\.region: eu-west-3$/,
  ],
  [
    { name: 'AuthorizationHeaderMalformed', status: 400, more: { Region: 'ap-south-1' } },
    'wrong-region',
    false,
    /in the region ap-south-1/,
    /lake\.region: ap-south-1/,
  ],
  [
    { name: 'Error', message: 'Region is missing' },
    'wrong-region',
    false,
    /not that of the bucket/,
    /AWS_REGION/,
  ],
  [
    {
      name: 'NotImplemented',
      status: 501,
      message: "Header 'x-amz-storage-class' with value 'STANDARD_IA' not implemented",
    },
    'other',
    false,
    /does not support lake\.storageClass/,
    /Remove lake\.storageClass/,
  ],
  [
    {
      name: 'InvalidArgument',
      status: 400,
      message: "Unsupported header 'x-amz-tagging' received for this API call.",
    },
    'other',
    false,
    /does not support lake\.tags/,
    /Remove lake\.tags/,
  ],
  [
    {
      name: 'NotImplemented',
      status: 501,
      message: 'A header you provided implies functionality that is not implemented',
    },
    'other',
    false,
    /the store answered 501/,
    /supports this request/,
  ],
  [
    {
      name: 'InvalidRequest',
      status: 400,
      message: 'This bucket does not support a prefix that does not end in a delimiter',
    },
    'other',
    false,
    /directory bucket/,
    /general purpose bucket/,
  ],
  [
    {
      name: 'Error',
      message: "ENOENT: no such file or directory, open '/var/run/token'",
      more: { code: 'ENOENT' },
    },
    'bad-credentials',
    false,
    /does not exist .*'\/var\/run\/token'/,
    /AWS_WEB_IDENTITY_TOKEN_FILE/,
  ],
  [
    { name: 'Error', message: "EACCES: permission denied, open '/var/run/token'", more: { code: 'EACCES' } },
    'bad-credentials',
    false,
    /cannot be read/,
    /Allow this user to read it/,
  ],
  [
    {
      name: 'TypeError',
      message: 'Invalid character in header content ["authorization"]',
      more: { code: 'ERR_INVALID_CHAR' },
    },
    'bad-credentials',
    false,
    /no request can carry/,
    /without line breaks/,
  ],
  [
    {
      name: 'CredentialsProviderError',
      message: 'no answer within 9 s from the credential_process of the profile "x"',
      more: { code: 'CREDENTIALS_LATE' },
    },
    'expired-credentials',
    true,
    /profile "x"/,
    /Check the program/,
  ],
  [
    { name: 'CredentialsProviderError', message: 'Command failed: false' },
    'bad-credentials',
    false,
    /no credentials were found .*Command failed: false/,
    /profile or role/,
  ],
];

describe('The causes of failures of a store', () => {
  it.each(ANSWERS)(
    'are named with what to do: $name $status $message',
    (said, kind, retryable, problem, remedy) => {
      const found = failure(said);
      expect(found).toMatchObject({ kind, retryable });
      expect(found.message.replace(found.remedy, '')).toMatch(problem);
      expect(found.remedy).toMatch(remedy);
      // The words of the store are always shown, and the network is blamed for no answer.
      if (said.status !== undefined) expect(found.message).toContain(String(said.status));
      expect(found.message).not.toMatch(/lake\.endpoint/);
    },
  );
});
