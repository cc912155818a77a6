import type { CompletedPart } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32ToBase64, crc32ToHex } from '../crc32.js';
import { readAnswer } from './answer.js';
import type { S3Connection } from './connection.js';
import { headObject, sendOptions } from './head.js';
import { sdk } from './sdk.js';

/** S3's limit for one upload. */
export const MAX_PARTS = 10_000;

/**
 * One multipart upload with a CRC32 of the whole object (`ChecksumType: FULL_OBJECT`), which the store verifies at
 * completion. It only sends the four requests; the caller controls order and memory.
 */
export class MultipartUpload {
  readonly #s3: S3Connection;
  readonly #key: ObjectKey;
  readonly #operation: string;
  readonly #target: { Bucket: string; Key: string; UploadId: string };
  readonly #parts: CompletedPart[] = [];

  private constructor(s3: S3Connection, key: ObjectKey, operation: string, uploadId: string) {
    this.#s3 = s3;
    this.#key = key;
    this.#operation = operation;
    this.#target = { Bucket: s3.bucket, Key: s3.keyOf(key), UploadId: uploadId };
  }

  static async create(
    s3: S3Connection,
    key: ObjectKey,
    operation: string,
    options: { contentType: string },
  ): Promise<MultipartUpload> {
    const command = new (sdk().CreateMultipartUploadCommand)({
      Bucket: s3.bucket,
      Key: s3.keyOf(key),
      ContentType: options.contentType,
      ChecksumAlgorithm: 'CRC32',
      ChecksumType: 'FULL_OBJECT',
    });
    const answer = await s3.run(operation, key, undefined, () => s3.client.send(command));
    if (answer.UploadId === undefined) {
      throw s3.error(operation, key, undefined, new Error('CreateMultipartUpload returned no upload id'));
    }
    return new MultipartUpload(s3, key, operation, answer.UploadId);
  }

  /** The parameters of UploadPartCopy, except its source. */
  get target(): { Bucket: string; Key: string; UploadId: string } {
    return this.#target;
  }

  addPart(part: CompletedPart): void {
    this.#parts.push(part);
  }

  /**
   * Sends one part. The SDK retries transient errors.
   *
   * @returns whether the body is free. After a retry, Node may still be sending the first request, which the store has refused.
   */
  async upload(partNumber: number, body: Uint8Array, crc: number, signal: AbortSignal): Promise<boolean> {
    const command = new (sdk().UploadPartCommand)({
      ...this.#target,
      PartNumber: partNumber,
      Body: body,
      ContentLength: body.length,
      ChecksumCRC32: crc32ToBase64(crc),
    });
    const answer = await this.#s3.run(this.#operation, this.#key, signal, () =>
      this.#s3.client.send(command, sendOptions(signal)),
    );
    this.#parts.push({ PartNumber: partNumber, ETag: answer.ETag, ChecksumCRC32: crc32ToBase64(crc) });
    return answer.$metadata.attempts === 1;
  }

  /** Completes the upload. The store compares the CRC32 of the whole object with ours. */
  async complete(whole: { crc32: number; bytes: number }, signal?: AbortSignal): Promise<void> {
    const command = new (sdk().CompleteMultipartUploadCommand)({
      ...this.#target,
      MultipartUpload: { Parts: this.#parts },
      ChecksumType: 'FULL_OBJECT',
      ChecksumCRC32: crc32ToBase64(whole.crc32),
    });
    await this.#s3.run(this.#operation, this.#key, signal, async () => {
      try {
        await this.#s3.client.send(command, sendOptions(signal));
      } catch (error) {
        // If the response of the first completion was lost, a retry finds no upload, but the object exists.
        if (readAnswer(error).name !== 'NoSuchUpload') throw error;
        const found = await headObject(this.#s3, this.#key, signal);
        if (found?.bytes !== whole.bytes || found.crc32 !== crc32ToHex(whole.crc32)) throw error;
      }
    });
  }

  /** Removes the uploaded parts. Call it when no part is in flight. A failure is only logged as a warning. */
  async abort(): Promise<void> {
    try {
      await this.#s3.client.send(new (sdk().AbortMultipartUploadCommand)(this.#target));
    } catch (error) {
      const said = readAnswer(error);
      if (said.name === 'NoSuchUpload') return;
      this.#s3.logger.warn('Cleanup of an unfinished upload failed. A later clean-up removes it', {
        key: this.#key,
        reason: said.name,
      });
    }
  }
}
