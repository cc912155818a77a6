import { MINUTE_MS } from '../../../core/duration.js';
import { parseHttpDate, parseRetryAfter } from '../../../core/retry-after.js';
import { withoutEnd } from '../../../core/without-end.js';
import { ObjectNotFoundError, StoreError, type StoreErrorDetails, type StoreErrorKind } from '../errors.js';

interface S3Context {
  readonly operation: string;
  /** Relative to the lake's root; null if the operation concerns no object. */
  readonly key: string | null;
  readonly bucket: string;
  /** Origin of the endpoint, or `AWS S3`. */
  readonly endpoint: string;
}

type Verdict = Pick<StoreErrorDetails, 'kind' | 'problem' | 'remedy'>;

const CREDENTIALS_REMEDY =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile or role that the AWS SDK finds on this machine.';

/** Errors of the SDK's search for credentials: nothing was sent to the store. */
const NO_CREDENTIALS: readonly string[] = ['CredentialsProviderError', 'TokenProviderError'];

/** S3 error codes and SDK error names, by kind. */
const NAMES: readonly (readonly [StoreErrorKind, readonly string[]])[] = [
  ['missing-bucket', ['NoSuchBucket']],
  ['bad-credentials', ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'InvalidToken', ...NO_CREDENTIALS]],
  ['expired-credentials', ['ExpiredToken', 'ExpiredTokenException']],
  ['clock-skew', ['RequestTimeTooSkewed', 'RequestExpired']],
  ['throttled', ['SlowDown', 'Throttling', 'ThrottlingException', 'RequestLimitExceeded']],
  ['throttled', ['TooManyRequests', 'TooManyRequestsException']],
  ['checksum', ['BadDigest', 'InvalidDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch']],
  ['unreachable', ['RequestTimeout', 'TimeoutError', 'IncompleteBody']],
  ['invalid-key', ['ObjectParentIsFile', 'ExistingObjectIsDirectory', 'KeyTooLongError']],
  ['upload-gone', ['NoSuchUpload']],
];

const REGION_ERRORS: ReadonlySet<string> = new Set(['PermanentRedirect', 'AuthorizationHeaderMalformed']);

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

/** Whether the object does not exist: `NoSuchKey` from requests with a body, `NotFound` from HEAD. */
export function isMissingObject(answer: S3Answer): boolean {
  return answer.name === 'NoSuchKey' || (answer.name === 'NotFound' && answer.status === 404);
}

/** What a failure means and what to do about it, by its kind. The store's words follow the problem in parentheses. */
const VERDICTS: Readonly<Partial<Record<StoreErrorKind, readonly [problem: string, remedy: string]>>> = {
  'bad-credentials': ['the credentials are not accepted', CREDENTIALS_REMEDY],
  'expired-credentials': [
    'the credentials have expired',
    'They are read again before the next attempt. If they do not come from a role, give the worker new ones.',
  ],
  'clock-skew': ['the clocks differ too much', "Set this machine's clock (NTP)."],
  throttled: ['the store limits requests', 'Try again later.'],
  checksum: [
    'the bytes were damaged in transit',
    'Try again. If the error persists, check the network and the memory of this machine.',
  ],
  'upload-gone': [
    'the upload was aborted before it was complete',
    'The next attempt writes the object again. If the error persists, check whether a lifecycle rule of the bucket or another clean-up aborts unfinished uploads.',
  ],
  'invalid-key': [
    'the store does not accept this key',
    'This store cannot hold an object and a folder with the same name. Move the one that is in the way.',
  ],
};

function judgeAnswer(answer: S3Answer, { endpoint, operation }: S3Context): Verdict {
  const kind = errorKind(answer);
  const said = wordsOf(answer);
  const verdict = (problem: string, remedy: string): Verdict => ({
    kind,
    problem: `${problem} (${said})`,
    remedy,
  });
  const known = VERDICTS[kind];
  if (kind === 'bad-credentials' && answer.status === null && NO_CREDENTIALS.includes(answer.name))
    return verdict('no credentials were found', CREDENTIALS_REMEDY);
  if (known !== undefined) return verdict(...known);
  if (kind === 'access-denied') return verdict('access is denied', accessRemedy(answer, operation));
  if (kind === 'unreachable')
    return verdict(
      `${endpoint} cannot be reached or does not answer properly`,
      'Check lake.endpoint, the network and that the store is running.',
    );
  if (kind === 'missing-bucket') {
    const problem = 'there is no such bucket';
    const remedy = `Create it at ${endpoint}, or correct lake.url.`;
    return answer.status === null ? { kind, problem, remedy } : verdict(problem, remedy);
  }
  return {
    kind: 'other',
    problem: `the store answered ${said}`,
    remedy: isRegionProblem(answer)
      ? "Set lake.region (or AWS_REGION) to the bucket's region."
      : 'Check whether the store, and any proxy in front of it, supports this request.',
  };
}

/** What to change, by what AWS says about the denied request, and otherwise by the operation. */
function accessRemedy({ message }: S3Answer, operation: string): string {
  if (/\bkms:/i.test(message))
    return 'Allow kms:GenerateDataKey and kms:Decrypt on the key to these credentials, in the policy of the key too if it belongs to another account.';
  if (/explicit deny/i.test(message))
    return (
      'A policy denies this request explicitly, so no permission helps. If the policy of the bucket requires encryption, set ' +
      'lake.encryption ({ kmsKey: … } or sse-s3); it can also require lake.tags, lake.storageClass, lake.role, or a network.'
    );
  const named = /not authorized to perform: (s3:\w+)/.exec(message)?.[1];
  const wanted = named === undefined ? (PERMISSIONS[operation] ?? ALL_PERMISSIONS) : `Allow ${named}`;
  const settings =
    operation === 'write' || operation === 'swap' || operation === 'copy'
      ? ' If a policy of the bucket requires encryption or tags, set lake.encryption or lake.tags.'
      : '';
  return (
    `${wanted} to these credentials (docs/how-to/s3.md has the policies). If the requester pays for this bucket, set ` +
    `lake.requesterPays.${settings}`
  );
}

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

/** The kind of a failure. `throttled`: the store limits requests. */
export function errorKind(answer: S3Answer): StoreErrorKind {
  const known = NAMES.find(([, names]) => names.includes(answer.name));
  if (known !== undefined) return known[0];
  if (/^Checksum mismatch/.test(answer.message)) return 'checksum';
  if (isRegionProblem(answer)) return 'other';
  if (answer.status === null) return answer.code === null && !isNetworkName(answer) ? 'other' : 'unreachable';
  if (answer.status === 401 || answer.status === 403) return 'access-denied';
  if (answer.status === 429 || answer.status === 503) return 'throttled';
  if (answer.status === 501) return 'other';
  return answer.status >= 500 || answer.status === 408 || answer.status === 200 ? 'unreachable' : 'other';
}

function isNetworkName(answer: S3Answer): boolean {
  return (
    answer.message === 'aborted' || answer.message === 'socket hang up' || answer.name === 'AggregateError'
  );
}

function isRegionProblem(answer: S3Answer): boolean {
  return REGION_ERRORS.has(answer.name) || answer.status === 301 || answer.message === 'Region is missing';
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

/** The fields of an AWS SDK error that are safe to keep: no headers, no string to sign. */
export interface S3Answer {
  /** S3's error code or the error's name: `NoSuchKey`, `TimeoutError`, `Error`. */
  readonly name: string;
  /** Node's code of a network error: `ECONNREFUSED`. */
  readonly code: string | null;
  /** HTTP status; null if there was no response. */
  readonly status: number | null;
  readonly message: string;
  readonly requestId: string | null;
  /** How long the store asks to wait (`Retry-After`), ms; null if it does not say. */
  readonly retryAfterMs: number | null;
}

/** Reads the safe fields of an error that the SDK threw. */
export function readAnswer(error: unknown): S3Answer {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const metadata = (fields.$metadata ?? {}) as Record<string, unknown>;
  return {
    name: text(fields.name) ?? 'Error',
    code: text(fields.code) ?? null,
    status: typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null,
    message: text(fields.message) ?? String(error),
    requestId: text(metadata.requestId) ?? null,
    retryAfterMs: retryAfterOf(fields.$response),
  };
}

/** The longest wait that an answer can ask for. A store that needs more is asked again after this. */
const MAX_WAIT_MS = 15 * MINUTE_MS;

/** How long a response asks to wait (`Retry-After`), ms; `null` if it does not say. */
function retryAfterOf(response: unknown): number | null {
  const headers = (response as { headers?: Readonly<Record<string, unknown>> } | undefined)?.headers ?? {};
  const nowMs = Date.now();
  const serviceDateMs = parseHttpDate(text(headers.date) ?? '', nowMs);
  const ms = parseRetryAfter(text(headers['retry-after']) ?? null, { serviceDateMs, nowMs });
  return ms === null || ms === 0 ? null : Math.min(ms, MAX_WAIT_MS);
}

/** Status, code and message of an answer, such as `503 SlowDown: Please reduce your request rate`. */
export function wordsOf(answer: S3Answer): string {
  const name = answer.name === 'Error' && answer.code !== null ? answer.code : answer.name;
  const status = answer.status === null ? '' : `${answer.status} `;
  const message = answer.message === 'UnknownError' || answer.message === name ? '' : `: ${answer.message}`;
  return withoutEnd(`${status}${name}${message}`, '. \t\r\n');
}

/** Creates an error for `cause`, with the original stack and only the safe fields. */
export function toCause(error: unknown): Error {
  const answer = readAnswer(error);
  const cause = new Error(answer.message);
  cause.name = answer.name;
  if (error instanceof Error && error.stack !== undefined) cause.stack = error.stack;
  return Object.assign(cause, { code: answer.code, status: answer.status, requestId: answer.requestId });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
