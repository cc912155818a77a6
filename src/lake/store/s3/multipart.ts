import type { CompletedPart, CompleteMultipartUploadCommandOutput } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { errorMessage } from '../../../core/errors.js';
import { crc32, crc32ToBase64, crc32ToHex } from '../crc32.js';
import { StoreError, type StoreErrorDetails } from '../errors.js';
import { contentTypeOf } from '../key.js';
import type { WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { fullCrc32, headObject, sendOptions, streamObject } from './read.js';
import { readAnswer } from './s3-answer.js';
import type { UploadChecksums } from './s3-client.js';
import { isRefusal, statusOf } from './s3-errors.js';
import { sdk } from './sdk.js';

/** S3's limit for one upload. */
export const MAX_PARTS = 10_000;

/** Size of an upload part, the least that S3 accepts. At most two are in memory for each writer. An object can have 48 GiB. */
export const PART_BYTES = 5 * 1024 * 1024;

/** What the stored object must be. `crc32`: 8 lower-case hex digits. */
type Whole = Pick<WrittenObject, 'crc32' | 'bytes'>;

interface UploadOptions {
  readonly checksums: UploadChecksums;
  /** Finds the checksums that the store accepts, after it may have refused these; `null`: a refusal is thrown as it is. */
  readonly learn: ((refusal: StoreError) => Promise<UploadChecksums>) | null;
}

/**
 * One multipart upload. The store verifies a CRC32 of the whole object at completion (`ChecksumType: FULL_OBJECT`), or what
 * it accepts instead (`UploadChecksums`). It only sends the four requests; the caller controls order and memory.
 */
export class MultipartUpload {
  readonly #parts: CompletedPart[] = [];

  private constructor(
    private readonly s3: S3Connection,
    /** The parameters of its requests. */
    readonly target: { readonly Bucket: string; readonly Key: string; readonly UploadId: string },
    private readonly key: ObjectKey,
    private readonly operation: string,
    private readonly options: UploadOptions,
  ) {}

  static async create(
    s3: S3Connection,
    key: ObjectKey,
    operation: string,
    options: UploadOptions,
  ): Promise<MultipartUpload> {
    const { checksums } = options;
    const command = new (sdk().CreateMultipartUploadCommand)({
      ...s3.target(key),
      ContentType: contentTypeOf(key),
      ...(checksums === 'none' ? {} : { ChecksumAlgorithm: 'CRC32' }),
      ...(checksums === 'whole' ? { ChecksumType: 'FULL_OBJECT' } : {}),
    });
    try {
      const answer = await s3.run(operation, key, undefined, () => s3.clientFor(checksums).send(command));
      if (answer.UploadId === undefined)
        throw s3.error(operation, key, undefined, new Error('CreateMultipartUpload returned no upload id'));
      const target = { ...s3.target(key), UploadId: answer.UploadId };
      return new MultipartUpload(s3, target, key, operation, options);
    } catch (error) {
      const accepted = await acceptedInstead(s3, key, operation, options, error);
      return MultipartUpload.create(s3, key, operation, { ...options, checksums: accepted, learn: null });
    }
  }

  /** Adds a part that was copied. */
  addPart(part: CompletedPart): void {
    this.#parts.push(part);
  }

  /**
   * Sends one part. The SDK retries transient errors.
   *
   * @returns whether the body is free. After a retry, Node may still be sending the first request, which the store has refused.
   */
  async upload(partNumber: number, body: Uint8Array, crc: number, signal: AbortSignal): Promise<boolean> {
    const checksum =
      this.options.checksums === 'none' ? {} : { ChecksumCRC32: crc32ToBase64(crc32ToHex(crc)) };
    const command = new (sdk().UploadPartCommand)({
      ...this.target,
      PartNumber: partNumber,
      Body: body,
      ContentLength: body.length,
      ...checksum,
    });
    try {
      const answer = await this.s3.run(this.operation, this.key, signal, () =>
        this.s3.clientFor(this.options.checksums).send(command, sendOptions(signal)),
      );
      this.#parts.push({ PartNumber: partNumber, ETag: answer.ETag, ...checksum });
      return answer.$metadata.attempts === 1;
    } catch (error) {
      return await this.#refused(error);
    }
  }

  /** Completes the upload. The CRC32 of the stored object is compared with ours, by the store or by reading it again. */
  async complete(whole: Whole, signal?: AbortSignal): Promise<void> {
    const command = new (sdk().CompleteMultipartUploadCommand)({
      ...this.target,
      MultipartUpload: { Parts: this.#parts },
      ...(this.options.checksums === 'whole'
        ? { ChecksumType: 'FULL_OBJECT', ChecksumCRC32: crc32ToBase64(whole.crc32) }
        : {}),
    });
    try {
      const answer = await this.s3.run(this.operation, this.key, signal, async () => {
        try {
          return await this.s3.clientFor(this.options.checksums).send(command, sendOptions(signal));
        } catch (error) {
          // If the response of the first completion was lost, a retry finds no upload, but the object exists.
          if (readAnswer(error).name !== 'NoSuchUpload') throw error;
          const found = await headObject(this.s3, this.key, signal);
          if (found?.bytes !== whole.bytes) throw error;
          return { ChecksumCRC32: found.crc32 === null ? undefined : crc32ToBase64(found.crc32) };
        }
      });
      await this.#verify(answer, whole, signal);
    } catch (error) {
      return await this.#refused(error);
    }
  }

  /** Removes the uploaded parts. Call it when no part is in flight. A failure is only logged as a warning. */
  async abort(): Promise<void> {
    try {
      await this.s3.client.send(new (sdk().AbortMultipartUploadCommand)(this.target));
    } catch (error) {
      const said = readAnswer(error);
      if (said.name === 'NoSuchUpload') return;
      this.s3.logger.warn('Cleanup of an unfinished upload failed. A later clean-up removes it', {
        key: this.key,
        reason: said.name,
      });
    }
  }

  /** Compares the checksum that the store reports with ours. If it reports none, the object is read again. */
  async #verify(
    answer: Pick<CompleteMultipartUploadCommandOutput, 'ChecksumCRC32' | 'ChecksumType'>,
    { crc32: expected }: Whole,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { ChecksumCRC32: reported, ChecksumType: type } = answer;
    const found = fullCrc32(reported, type);
    if (found !== null && found === expected) return;
    if (found === null && reported !== undefined && reported === this.#composite()) return;
    // Some stores report a checksum of another kind than the one that they say, so the bytes decide.
    let crc = 0;
    for await (const chunk of streamObject(this.s3, this.key, { signal, operation: this.operation }))
      crc = crc32(chunk, crc);
    if (crc32ToHex(crc) !== expected)
      throw this.s3.error(
        this.operation,
        this.key,
        signal,
        new Error(`Checksum mismatch: the store holds CRC32 ${crc32ToHex(crc)} instead of ${expected}`),
      );
  }

  /** The checksum of the parts' checksums, as S3 reports it for an upload without one of the whole object. */
  #composite(): string {
    const all = this.#parts.map(({ ChecksumCRC32: one = '' }) => Buffer.from(one, 'base64'));
    return `${crc32ToBase64(crc32ToHex(crc32(Buffer.concat(all))))}-${this.#parts.length}`;
  }

  /** Throws the error, or, if the store accepts other checksums, one that says that the next attempt sends those. */
  async #refused(error: unknown): Promise<never> {
    await acceptedInstead(this.s3, this.key, this.operation, this.options, error);
    throw refusedChecksums(this.s3, this.key, this.operation, error as StoreError, {
      problem: 'the store does not accept the checksums of a large upload',
      remedy: 'The next attempt sends the checksums that it accepts.',
    });
  }
}

/**
 * The checksums that the store accepts instead of those of an upload that failed.
 *
 * @throws the error, if it is about something else or the store accepts no upload at all; a retryable StoreError, if the search for
 *   the checksums failed, for example because of a short outage
 */
async function acceptedInstead(
  s3: S3Connection,
  key: ObjectKey,
  operation: string,
  { checksums, learn }: UploadOptions,
  error: unknown,
): Promise<UploadChecksums> {
  if (learn === null || !mayBeChecksums(error)) throw error;
  const accepted = await learn(error).catch((failure: unknown) => {
    if (isRefusal(failure)) throw error;
    const said = errorMessage(failure);
    throw refusedChecksums(s3, key, operation, error, {
      problem: `the store does not accept a large upload, and the search for the checksums that it accepts failed: ${said}`,
      remedy: 'The next attempt searches again.',
    });
  });
  if (accepted === checksums) throw error;
  return accepted;
}

function refusedChecksums(
  s3: S3Connection,
  key: ObjectKey,
  operation: string,
  { said, cause }: StoreError,
  { problem, remedy }: Pick<StoreErrorDetails, 'problem' | 'remedy'>,
): StoreError {
  return s3.failure(operation, key, {
    kind: 'checksum',
    problem: said === null ? problem : `${problem} (${said})`,
    remedy,
    ...(said === null ? {} : { said }),
    cause,
  });
}

/**
 * Whether a failure of an upload may be about its checksums. Stores answer unknown headers in many ways: also with 500, and with an
 * error in the body of a 200, which the SDK shows as a 503.
 */
export function mayBeChecksums(error: unknown): error is StoreError {
  if (isRefusal(error)) return true;
  if (!(error instanceof StoreError) || statusOf(error) === null) return false;
  const { name } = error.cause as { readonly name?: string };
  if (error.kind === 'throttled')
    return /^(?:Invalid|NotImplemented|Malformed|MissingContent)/.test(name ?? '');
  return error.kind === 'checksum' || (error.kind === 'unreachable' && statusOf(error)! >= 500);
}
