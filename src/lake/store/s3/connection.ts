import type { S3Client } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import type { LakeSettings } from '../../../core/settings.js';
import { StoreError, type StoreErrorDetails, type StoreErrorKind } from '../errors.js';
import { keyProblem, MAX_KEY_BYTES, toObjectKey } from '../key.js';
import type { StoreLogger } from '../port.js';
import { type S3Clients, type StoreFeatures, shareS3Clients, type UploadChecksums } from './s3-client.js';
import { toStoreError } from './s3-errors.js';
import { sdk } from './sdk.js';

/** The store may also no longer know credentials without an expiry time, such as those of a `credential_process`. */
const RENEWED_FOR: readonly StoreErrorKind[] = ['expired-credentials', 'bad-credentials'];

/** One bucket and prefix with its clients. All operations of the S3 store use it. */
export class S3Connection {
  readonly bucket: string;
  readonly logger: StoreLogger;
  /** Ends in `/` unless empty. */
  readonly #root: string;
  readonly #endpoint: string;
  readonly #clients: S3Clients;
  readonly client: S3Client;
  readonly singleAttemptClient: S3Client;
  readonly features: StoreFeatures;
  #bucketSeen = false;

  constructor(lake: LakeSettings, place: { bucket: string; prefix: string }, logger: StoreLogger) {
    this.bucket = place.bucket;
    this.logger = logger;
    this.#root = place.prefix === '' ? '' : `${place.prefix}/`;
    // Only the origin: an endpoint can contain a user name and password.
    this.#endpoint = lake.endpoint === undefined ? 'AWS S3' : new URL(lake.endpoint).origin;
    this.#clients = shareS3Clients(lake);
    const { client, singleAttemptClient, features } = this.#clients;
    this.client = client;
    this.singleAttemptClient = singleAttemptClient;
    this.features = features;
  }

  /** The client for the requests of an upload. */
  clientFor(checksums: UploadChecksums): S3Client {
    return checksums === 'none' ? this.#clients.unchecked() : this.client;
  }

  /** Logs once what the store does not do, and what is done instead. @param error the refusal */
  missing(what: string, error: unknown): void {
    const { logged } = this.features;
    if (logged.has(what)) return;
    logged.add(what);
    const said = error instanceof StoreError ? error.said : null;
    this.logger.warn(said === null ? what : `${what}. The store said: ${said}`);
  }

  /** The key in the bucket. Throws `invalid-key` for a key outside the lake, or one that is too long with the prefix. */
  keyOf(key: ObjectKey): string {
    const full = this.#root + toObjectKey(key);
    if (Buffer.byteLength(full) > MAX_KEY_BYTES) {
      throw this.failure('use', key, {
        kind: 'invalid-key',
        problem: `the key is longer than ${MAX_KEY_BYTES} bytes with the lake's prefix`,
        remedy: 'Shorten the prefix in lake.url.',
      });
    }
    return full;
  }

  /** The parameters of a request that name an object. */
  target(key: ObjectKey): { Bucket: string; Key: string } {
    return { Bucket: this.bucket, Key: this.keyOf(key) };
  }

  /** The prefix in the bucket; the caller has checked it. */
  prefixOf(prefix: string): string {
    return this.#root + prefix;
  }

  /** Converts a key in the bucket to a key of the lake; null for foreign objects, such as a console's folder markers. */
  relative(full: string): ObjectKey | null {
    if (!full.startsWith(this.#root)) return null;
    const key = full.slice(this.#root.length);
    return keyProblem(key) === null ? (key as ObjectKey) : null;
  }

  /** Runs one operation. Errors are thrown as StoreErrors; an aborted signal throws its reason. */
  async run<T>(
    operation: string,
    key: string | null,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      throw this.error(operation, key, signal, error);
    }
  }

  /** The error to throw: the reason of an aborted signal, otherwise a StoreError. */
  error(operation: string, key: string | null, signal: AbortSignal | undefined, error: unknown): unknown {
    if (signal?.aborted) return signal.reason;
    const found = toStoreError(error, { operation, key, bucket: this.bucket, endpoint: this.#endpoint });
    if (RENEWED_FOR.includes(found.kind)) this.#clients.renewCredentials();
    return found;
  }

  /** An error that no answer of the store shows by itself. */
  failure(
    operation: string,
    key: string | null,
    details: Pick<StoreErrorDetails, 'problem' | 'remedy'> & Partial<StoreErrorDetails>,
  ): StoreError {
    return new StoreError({ kind: 'other', operation, key, bucket: `s3://${this.bucket}`, ...details });
  }

  /** Checks once that the bucket exists. A 404 of HEAD does not show whether the object or the bucket is missing. */
  async checkBucket(operation: string): Promise<void> {
    if (this.#bucketSeen) return;
    try {
      await this.client.send(new (sdk().HeadBucketCommand)({ Bucket: this.bucket }));
    } catch (error) {
      const answer = this.error(operation, null, undefined, error) as StoreError;
      const missing = (answer.cause as { status?: unknown } | undefined)?.status === 404;
      const noBucket = { name: 'NoSuchBucket', message: 'no such bucket' };
      if (missing) throw this.error(operation, null, undefined, noBucket);
      // Credentials can have permission to read objects, but not to check the bucket.
      if (answer.kind !== 'access-denied') throw answer;
    }
    this.#bucketSeen = true;
  }

  /** As in `ObjectStore`. */
  serverTime(): number | null {
    return this.#clients.clock.now();
  }

  close(): void {
    this.#clients.close();
  }
}
