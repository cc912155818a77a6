import type { Millis } from '../../../core/brands.js';
import { MINUTE_MS } from '../../../core/duration.js';
import { parseHttpDate, parseRetryAfter } from '../../../core/parse-retry-after.js';
import { withoutEnd } from '../../../core/without-end.js';

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
  /** How long the store asks to wait (`Retry-After`); null if it does not say. */
  readonly retryAfterMs: Millis | null;
  /** The region of the bucket, which the answer to a request in another region names; null: it names none. */
  readonly region: string | null;
}

/** The code of the error that nothing has provided credentials in time. */
export const CREDENTIALS_LATE = 'CREDENTIALS_LATE';

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
    region: headersOf(fields.$response)['x-amz-bucket-region'] ?? text(fields.Region) ?? null,
  };
}

/** The longest wait that an answer can ask for. A store that needs more is asked again after this. */
const MAX_WAIT_MS = 15 * MINUTE_MS;

/** How long a response asks to wait (`Retry-After`); `null` if it does not say. */
function retryAfterOf(response: unknown): Millis | null {
  const headers = headersOf(response);
  const nowMs = Date.now();
  const serviceDateMs = parseHttpDate(headers.date ?? '', nowMs);
  const ms = parseRetryAfter(headers['retry-after'] ?? null, { serviceDateMs, nowMs });
  return ms === null || ms === 0 ? null : Math.min(ms, MAX_WAIT_MS);
}

/** The headers of the response that caused an error, by name in lower case; none without a response. */
function headersOf(response: unknown): Readonly<Record<string, string>> {
  return (response as { headers?: Readonly<Record<string, string>> } | undefined)?.headers ?? {};
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

/** Whether the object does not exist: `NoSuchKey` from requests with a body, `NotFound` from HEAD. */
export function isMissingObject(answer: S3Answer): boolean {
  return answer.name === 'NoSuchKey' || (answer.name === 'NotFound' && answer.status === 404);
}
