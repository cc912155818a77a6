/** Kinds of failures, grouped by what to do about them. */
export type StoreErrorKind =
  | 'access-denied'
  | 'missing-bucket'
  | 'clock-skew'
  | 'bad-credentials'
  | 'expired-credentials'
  | 'unreachable'
  | 'throttled'
  | 'checksum'
  | 'damaged'
  | 'unclear'
  | 'upload-gone'
  | 'invalid-key'
  | 'not-found'
  | 'other';

/**
 * Kinds that can succeed on a retry. After `clock-skew`, the AWS SDK has learned the clock difference from the response and
 * uses it for the next request. After `expired-credentials`, the credentials are read again.
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

interface StoreErrorDetails {
  readonly kind: StoreErrorKind;
  /** Name of the `ObjectStore` operation: `read`, `write`, `swap`, ... */
  readonly operation: string;
  /** Key or prefix relative to the lake's root; null if the operation has none. */
  readonly key: string | null;
  /** `s3://bucket` or the folder of a file store. */
  readonly bucket: string;
  /** What happened, without a period at the end. */
  readonly problem: string;
  /** What to do next, as a sentence. */
  readonly remedy: string;
  readonly cause?: unknown;
}

/** A store operation failed. The message says what happened, where, and what to do next. It never contains credentials. */
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

  /** Whether the same call can succeed later without action by a person. */
  get retryable(): boolean {
    return RETRYABLE.has(this.kind);
  }
}
