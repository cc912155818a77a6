import type { StoreErrorDetails, StoreErrorKind } from '../errors.js';
import { CREDENTIALS_LATE, type S3Answer, wordsOf } from './s3-answer.js';

/** What was asked of the store. */
export interface S3Context {
  readonly operation: string;
  /** Relative to the lake's root; null if the operation concerns no object. */
  readonly key: string | null;
  readonly bucket: string;
  /** Origin of the endpoint, or `AWS S3`. */
  readonly endpoint: string;
}

/** What a failure means, and what to do about it. */
export type Verdict = Pick<StoreErrorDetails, 'kind' | 'problem' | 'remedy'>;

type Words = string | ((answer: S3Answer, context: S3Context) => string);

/** One cause of failures: what a store, or the AWS SDK, says if it applies, and our words for it. */
interface Cause {
  readonly kind: StoreErrorKind;
  /** Codes of the store, and names of the SDK's errors. */
  readonly names?: readonly string[];
  /** Anything else that shows the cause. */
  readonly when?: (answer: S3Answer) => boolean;
  /** What happened. The words of the store follow in parentheses. */
  readonly problem: Words;
  readonly remedy: Words;
}

const CREDENTIALS_REMEDY =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile or role that the AWS SDK finds on this machine.';
const KMS_REMEDY =
  'Enable the key again, or cancel its deletion. For new objects, lake.encryption can name another key; what was written with this one stays unreadable without it.';
const FULL_REMEDY = 'Free some space, or raise the quota. The run continues by itself once there is space.';

/** S3 answers 403 instead of 404 for a missing object if the credentials may not list the bucket. */
const READING = 'Allow s3:GetObject on the objects of the lake, and s3:ListBucket on its bucket';

/** The permissions that an operation of the store needs. */
const PERMISSIONS: Readonly<Record<string, string>> = {
  read: READING,
  head: READING,
  write: 'Allow s3:PutObject on the objects of the lake',
  swap: 'Allow s3:PutObject and s3:GetObject on the objects of the lake',
  copy: 'Allow s3:PutObject and s3:GetObject on the objects of the lake',
  list: 'Allow s3:ListBucket on the bucket of the lake',
  listFolders: 'Allow s3:ListBucket on the bucket of the lake',
  remove: 'Allow s3:DeleteObject on the objects of the lake',
  abortUploads: 'Allow s3:ListBucketMultipartUploads and s3:AbortMultipartUpload',
};

const ALL_PERMISSIONS =
  'Allow s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads';

const SETTINGS_OF_HEADERS: readonly (readonly [header: RegExp, setting: string])[] = [
  [/x-amz-tagging/i, 'lake.tags'],
  [/x-amz-storage-class|storage ?class/i, 'lake.storageClass'],
  [/x-amz-server-side-encryption/i, 'lake.encryption'],
  [/x-amz-acl|\bACL/i, 'lake.acl'],
  [/x-amz-request-payer/i, 'lake.requesterPays'],
  [/x-amz-expected-bucket-owner/i, 'lake.expectedBucketOwner'],
  [/\btagging\b|\btags\b/i, 'lake.tags'],
];

/** Names of the SDK's errors about a connection that failed. */
const isNetworkError = ({ message, name }: S3Answer): boolean =>
  message === 'aborted' || message === 'socket hang up' || name === 'AggregateError';

/**
 * All causes that are told apart, the most specific first: the first that applies counts. Sources: the codes of S3
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html), of MinIO (`XMinio…`), Ceph and versitygw, and the
 * errors of the AWS SDK for JavaScript 3.
 */
const CAUSES: readonly Cause[] = [
  // What the SDK says before it sends a request.
  {
    kind: 'expired-credentials',
    when: ({ code }) => code === CREDENTIALS_LATE,
    problem: 'no credentials were found yet',
    remedy: 'Check the program or the service of the machine that provides them.',
  },
  {
    kind: 'bad-credentials',
    names: ['CredentialsProviderError', 'TokenProviderError'],
    problem: 'no credentials were found',
    remedy: CREDENTIALS_REMEDY,
  },
  {
    kind: 'bad-credentials',
    when: ({ status, code, message }) => status === null && code === 'ENOENT' && message.includes("open '"),
    problem: 'a file that the AWS SDK reads for the credentials does not exist',
    remedy: 'Create it, or correct AWS_WEB_IDENTITY_TOKEN_FILE, or the profile that names it.',
  },
  {
    kind: 'bad-credentials',
    when: ({ status, code }) => status === null && (code === 'EACCES' || code === 'EISDIR'),
    problem: 'a file that the AWS SDK reads for the credentials cannot be read',
    remedy:
      'Allow this user to read it, or correct AWS_WEB_IDENTITY_TOKEN_FILE, or the profile that names it.',
  },
  {
    kind: 'bad-credentials',
    when: ({ status, code }) => status === null && code === 'ERR_INVALID_CHAR',
    problem: 'the credentials contain a character that no request can carry, such as a line break',
    remedy: 'Copy the access key again, in its variable or profile, without line breaks or quotation marks.',
  },
  {
    kind: 'bad-credentials',
    names: ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'InvalidToken'],
    problem: 'the credentials are not accepted',
    remedy: CREDENTIALS_REMEDY,
  },
  {
    kind: 'expired-credentials',
    names: ['ExpiredToken', 'ExpiredTokenException'],
    problem: 'the credentials have expired',
    remedy:
      'They are read again before the next attempt. If they do not come from a role, give the worker new ones.',
  },
  {
    kind: 'clock-skew',
    names: ['RequestTimeTooSkewed', 'RequestExpired'],
    problem: 'the clocks differ too much',
    remedy: "Set this machine's clock (NTP).",
  },
  // The account, its key, its space, its region.
  {
    kind: 'access-denied',
    when: ({ name, message }) => /^KMS\./.test(name) || /\bkms:\w/i.test(message),
    problem: ({ name }) =>
      /NotFound/.test(name)
        ? 'the KMS key does not exist'
        : /Disabled|InvalidState/.test(name)
          ? 'the KMS key is disabled, or will be deleted'
          : 'the KMS key cannot be used',
    remedy: ({ name }) =>
      /NotFound/.test(name)
        ? "Correct lake.encryption, or the bucket's default encryption."
        : /Disabled|InvalidState/.test(name)
          ? KMS_REMEDY
          : 'Allow kms:GenerateDataKey and kms:Decrypt on the key to these credentials, in the policy of the key too if it belongs to another account.',
  },
  {
    kind: 'full',
    names: [
      ...[
        'QuotaExceeded',
        'QuotaExceededException',
        'BucketQuotaExceeded',
        'InsufficientStorage',
        'EntityQuotaExceeded',
      ],
      ...['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'StorageFull', 'InsufficientCapacity'],
    ],
    when: ({ status }) => status === 507,
    problem: 'the store has no space left, or a quota is used up',
    remedy: FULL_REMEDY,
  },
  {
    kind: 'access-denied',
    names: [
      'AccountProblem',
      'AllAccessDisabled',
      'UserSuspended',
      'AccountSuspended',
      'InvalidPayer',
      'NotSignedUp',
    ],
    problem: 'the account of the store is suspended, or there is a problem with it',
    remedy: 'Settle it with the operator of the store; permissions do not help.',
  },
  {
    kind: 'archived',
    names: ['InvalidObjectState'],
    problem: 'the object is in an archive, so it cannot be read',
    remedy:
      'Restore it from its storage class, and exclude the lake from the lifecycle rule that archives objects.',
  },
  {
    kind: 'wrong-region',
    names: ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
    when: ({ status, message }) => status === 301 || status === 307 || message === 'Region is missing',
    problem: ({ region }) =>
      region === null ? 'the region is not that of the bucket' : `the bucket is in the region ${region}`,
    remedy: ({ region }) =>
      region === null
        ? "Set lake.region (or AWS_REGION) to the bucket's region."
        : `Set lake.region: ${region}`,
  },
  {
    kind: 'missing-bucket',
    names: ['NoSuchBucket'],
    problem: 'there is no such bucket',
    remedy: (_, { endpoint }) => `Create it at ${endpoint}, or correct lake.url.`,
  },
  // The request itself.
  {
    kind: 'checksum',
    names: ['BadDigest', 'InvalidDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch'],
    when: ({ message }) => /^Checksum mismatch/.test(message),
    problem: 'the bytes were damaged in transit',
    remedy: 'Try again. If the error persists, check the network and the memory of this machine.',
  },
  {
    kind: 'invalid-key',
    names: ['ObjectParentIsFile', 'ExistingObjectIsDirectory', 'KeyTooLongError'],
    problem: 'the store does not accept this key',
    remedy:
      'This store cannot hold an object and a folder with the same name. Move the one that is in the way.',
  },
  {
    kind: 'upload-gone',
    names: ['NoSuchUpload'],
    problem: 'the upload was aborted before it was complete',
    remedy:
      'The next attempt writes the object again. If the error persists, check whether a lifecycle rule of the bucket or another clean-up aborts unfinished uploads.',
  },
  {
    kind: 'other',
    when: ({ message }) => message.includes('does not support a prefix that does not end in a delimiter'),
    problem: 'the bucket is a directory bucket',
    remedy: 'Use a general purpose bucket: directory buckets (S3 Express One Zone) are not supported.',
  },
  {
    kind: 'other',
    when: (answer) => isRefusedHeader(answer),
    problem: (answer) => `the store does not support ${settingOf(answer)}`,
    remedy: (answer) =>
      `Remove ${settingOf(answer)} from the configuration, or use a store that supports it.`,
  },
  // By status, too, if nothing says more.
  {
    kind: 'throttled',
    names: [
      ...['SlowDown', 'Throttling', 'ThrottlingException', 'RequestLimitExceeded'],
      ...['TooManyRequests', 'TooManyRequestsException'],
    ],
    when: ({ status }) => status === 429 || status === 503,
    problem: 'the store limits requests',
    remedy: 'Try again later.',
  },
  {
    kind: 'unreachable',
    names: ['RequestTimeout', 'TimeoutError', 'IncompleteBody'],
    when: (answer) =>
      answer.status === null
        ? answer.code !== null || isNetworkError(answer)
        : (answer.status >= 500 && answer.status !== 501) || [408, 200].includes(answer.status),
    problem: (_, { endpoint }) => `${endpoint} cannot be reached or does not answer properly`,
    remedy: 'Check lake.endpoint, the network and that the store is running.',
  },
  {
    kind: 'access-denied',
    when: ({ status }) => status === 401 || status === 403,
    problem: 'access is denied',
    remedy: (answer, { operation }) => accessRemedy(answer, operation),
  },
];

/** What an answer of the store, or an error of the SDK, means. */
export function judgeAnswer(answer: S3Answer, context: S3Context): Verdict {
  const cause = causeOf(answer);
  const said = wordsOf(answer);
  if (cause === null)
    return {
      kind: 'other',
      problem: `the store answered ${said}`,
      remedy: 'Check whether the store, and any proxy in front of it, supports this request.',
    };
  const words = (text: Words): string => (typeof text === 'string' ? text : text(answer, context));
  const problem = words(cause.problem);
  // `checkBucket` has seen no answer that could be quoted.
  const isBare = cause.kind === 'missing-bucket' && answer.status === null;
  return {
    kind: cause.kind,
    problem: isBare ? problem : `${problem} (${said})`,
    remedy: words(cause.remedy),
  };
}

/** The kind of a failure. `throttled`: the store limits requests. */
export function errorKind(answer: S3Answer): StoreErrorKind {
  return causeOf(answer)?.kind ?? 'other';
}

function causeOf(answer: S3Answer): Cause | null {
  return (
    CAUSES.find(({ names = [], when }) => names.includes(answer.name) || when?.(answer) === true) ?? null
  );
}

/** What to change, by what AWS says about the denied request, and otherwise by the operation. */
function accessRemedy({ message }: S3Answer, operation: string): string {
  if (/explicit deny/i.test(message))
    return (
      'A policy denies this request explicitly, so no permission helps. If the policy of the bucket requires encryption, set ' +
      'lake.encryption ({ kmsKey: … } or sse-s3); it can also require lake.tags, lake.storageClass, lake.acl, lake.role, or a network.'
    );
  const named = /not authorized to perform: (s3:\w+)/.exec(message)?.[1];
  const wanted = named === undefined ? (PERMISSIONS[operation] ?? ALL_PERMISSIONS) : `Allow ${named}`;
  const settings =
    operation === 'write' || operation === 'swap' || operation === 'copy'
      ? ' If a policy of the bucket requires encryption, tags or an ACL, set lake.encryption, lake.tags or lake.acl.'
      : '';
  return (
    `${wanted} to these credentials (docs/how-to/s3.md has the policies). If the requester pays for this bucket, set ` +
    `lake.requesterPays.${settings}`
  );
}

/** Whether the store refuses a header that a setting adds to requests. */
function isRefusedHeader({ status, name, message }: S3Answer): boolean {
  const isRefused =
    status === 501 ||
    name === 'NotImplemented' ||
    (status === 400 &&
      /^(?:InvalidArgument|InvalidRequest|UnsupportedHeader|InvalidStorageClass|MalformedHeader|InvalidTag|BadRequest)$/.test(
        name,
      ));
  return isRefused && SETTINGS_OF_HEADERS.some(([header]) => header.test(`${name} ${message}`));
}

function settingOf({ name, message }: S3Answer): string {
  return (
    SETTINGS_OF_HEADERS.find(([header]) => header.test(`${name} ${message}`))?.[1] ?? 'a setting of the lake'
  );
}
