import type { Millis } from '../../core/brands.js';
import { type ErrorCode, WorktrackError } from '../../core/errors.js';

/** The kinds of failures, grouped by what to do about them, and their codes. */
const CODES = {
  'access-denied': 'STORE_ACCESS_DENIED',
  'missing-bucket': 'STORE_MISSING_BUCKET',
  'clock-skew': 'STORE_CLOCK_SKEW',
  'bad-credentials': 'STORE_BAD_CREDENTIALS',
  'expired-credentials': 'STORE_EXPIRED_CREDENTIALS',
  // Nothing of the lake can be used until the setting is corrected.
  'wrong-region': 'STORE_OTHER',
  archived: 'STORE_ARCHIVED',
  full: 'STORE_FULL',
  unreachable: 'STORE_UNREACHABLE',
  throttled: 'STORE_THROTTLED',
  checksum: 'STORE_CHECKSUM',
  damaged: 'STORE_DAMAGED',
  unclear: 'STORE_UNCLEAR',
  'upload-gone': 'STORE_UPLOAD_GONE',
  'invalid-key': 'STORE_INVALID_KEY',
  'not-found': 'STORE_NOT_FOUND',
  other: 'STORE_OTHER',
} as const satisfies Record<string, ErrorCode>;

export type StoreErrorKind = keyof typeof CODES;

export interface StoreErrorDetails {
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
  /** The store's own words: status, code and message. Absent: it said nothing. */
  readonly said?: string;
  /** How long the store asked to wait. Absent: it did not say. */
  readonly retryAfterMs?: Millis;
  readonly cause?: unknown;
}

/** A store operation failed. The message says what happened, where, and what to do next. It never contains credentials. */
export class StoreError extends WorktrackError {
  readonly code: ErrorCode;
  readonly kind: StoreErrorKind;
  readonly operation: string;
  readonly key: string | null;
  readonly bucket: string;
  /** The store's own words, such as `501 NotImplemented: …`; `null` if it said nothing. */
  readonly said: string | null;
  /** How long the store asked to wait; `null` if it did not say. */
  readonly retryAfterMs: Millis | null;
  declare readonly remedy: string;

  constructor(details: StoreErrorDetails) {
    const target =
      details.key === null ? details.bucket : `${JSON.stringify(details.key)} in ${details.bucket}`;
    super(`${details.operation} of ${target} failed: ${details.problem}. ${details.remedy}`, details);
    this.code = CODES[details.kind];
    this.kind = details.kind;
    this.operation = details.operation;
    this.key = details.key;
    this.bucket = details.bucket;
    this.said = details.said ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }

  override describe(): string {
    return this.message;
  }
}

export class ObjectNotFoundError extends StoreError {
  constructor(details: { operation: string; key: string; bucket: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'not-found',
      problem: 'the object does not exist',
      remedy: 'Check whether retention or a person removed it, and whether the lake URL is correct.',
    });
  }
}

/** Failures that show only that an object cannot be read now: it is in an archive, or may not be read. */
const UNREAD: readonly StoreErrorKind[] = ['archived', 'access-denied'];

/** Whether the store refuses to return an object that may be intact. */
export function isUnread(error: unknown): error is StoreError {
  return error instanceof StoreError && UNREAD.includes(error.kind);
}

/** For `catch` of a read: `null` if there is no such object. */
export function nullIfNotFound(error: unknown): null {
  if (error instanceof ObjectNotFoundError) return null;
  throw error;
}

/**
 * A conditional write was sent and its outcome is unknown. Read the object again before any other step
 * (docs/explanation/how-it-works.md#atomic-publishing).
 */
export class StoreUnclearError extends StoreError {
  constructor(details: { operation: string; key: string; bucket: string; problem: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'unclear',
      remedy: 'Read the object again to see whether the write took effect.',
    });
  }
}
