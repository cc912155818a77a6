/** What went wrong, by what has to be done about it. */
export type StoreErrorKind =
  | 'access-denied'
  | 'missing-bucket'
  | 'clock-skew'
  | 'bad-credentials'
  | 'expired-credentials'
  | 'unreachable'
  | 'throttled'
  | 'checksum'
  | 'unclear'
  | 'upload-gone'
  | 'invalid-key'
  | 'not-found'
  | 'other';

/**
 * With a wrong clock too: the AWS SDK has learned the difference from the answer and signs the next request with it. And
 * with credentials that have expired: they are renewed by whoever gives them out, and are read again then.
 */
const RETRYABLE: ReadonlySet<StoreErrorKind> = new Set([
  'unreachable',
  'throttled',
  'checksum',
  'unclear',
  'upload-gone',
  'clock-skew',
  'expired-credentials',
]);

export interface StoreErrorDetails {
  readonly kind: StoreErrorKind;
  /** The port's name of what was tried: `read`, `write`, `swap`, ... */
  readonly operation: string;
  /** Key or prefix relative to the lake's root; null where none is concerned. */
  readonly key: string | null;
  /** `s3://bucket` or the folder of a file store. */
  readonly bucket: string;
  /** What happened, without a full stop. */
  readonly problem: string;
  /** What to do next, as a sentence. */
  readonly remedy: string;
  readonly cause?: unknown;
}

/** An operation of an object store that failed. The message says what, where and what next; never credentials. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
  readonly kind: StoreErrorKind;
  readonly operation: string;
  readonly key: string | null;
  readonly bucket: string;
  readonly remedy: string;

  constructor(details: StoreErrorDetails) {
    const target =
      details.key === null ? details.bucket : `${JSON.stringify(details.key)} in ${details.bucket}`;
    super(
      `${details.operation} of ${target} failed: ${details.problem}. ${details.remedy}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.kind = details.kind;
    this.operation = details.operation;
    this.key = details.key;
    this.bucket = details.bucket;
    this.remedy = details.remedy;
  }

  /** Whether the same call may succeed later with nothing changed by a person. */
  get retryable(): boolean {
    return RETRYABLE.has(this.kind);
  }
}
