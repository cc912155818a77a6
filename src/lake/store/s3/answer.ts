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
  };
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
