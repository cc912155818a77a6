import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32, crc32ToHex } from '../../crc32.js';
import { StoreError } from '../errors/store-error.js';
import type { ReadOptions } from '../port.js';
import { checkRange } from '../range.js';
import { readAnswer } from './answer.js';
import type { S3Connection } from './connection.js';
import { fullCrc32, sendOptions } from './head.js';

/** Broken connections in a row, without a byte between them, before reading gives up. */
const MAX_IDLE_BREAKS = 4;

/** What became known of the version that is being read. */
export interface ReadVersion {
  etag: string;
}

/**
 * The object or a range of it, in chunks. The SDK repeats requests but not bodies: when a body breaks off, it is
 * asked for again from the byte reached, of the same version (`If-Match`). The full CRC32 is checked at the end.
 * `onVersion` hears the ETag before the first chunk.
 */
export async function* streamObject(
  s3: S3Connection,
  key: ObjectKey,
  options: ReadOptions & { operation?: string; onVersion?: (version: ReadVersion) => void } = {},
): AsyncGenerator<Buffer, void, undefined> {
  const { range, signal, operation = 'read' } = options;
  if (range !== undefined) checkRange(range);
  const target = { Bucket: s3.bucket, Key: s3.keyOf(key) };
  const end = range === undefined ? null : range.offset + range.length - 1;
  const start = range?.offset ?? 0;
  let position = start;
  let etag: string | undefined;
  let total: number | undefined;
  let expectedCrc: string | null = null;
  let crc = 0;
  let idleBreaks = 0;
  while (total === undefined || position - start < total) {
    try {
      signal?.throwIfAborted();
      const wanted = position === 0 && end === null ? {} : { Range: `bytes=${position}-${end ?? ''}` };
      const condition = etag === undefined ? {} : { IfMatch: etag };
      const answer = await s3.client.send(
        new GetObjectCommand({ ...target, ...wanted, ...condition }),
        sendOptions(signal),
      );
      if (etag === undefined) {
        etag = answer.ETag ?? '';
        total = answer.ContentLength ?? 0;
        if (range === undefined) expectedCrc = fullCrc32(answer.ChecksumCRC32, answer.ChecksumType);
        options.onVersion?.({ etag });
      }
      for await (const chunk of answer.Body as AsyncIterable<Buffer>) {
        crc = expectedCrc === null ? crc : crc32(chunk, crc);
        position += chunk.length;
        idleBreaks = 0;
        yield chunk;
      }
      // A body that ends early without an error counts as a break.
      if (position - start < (total as number)) idleBreaks = countBreak(idleBreaks, new Error('aborted'));
    } catch (error) {
      const said = readAnswer(error);
      if (said.status === 416) return;
      if (said.status === 412) throw changed(s3, operation, key);
      const failure = s3.error(operation, key, signal, error);
      const resumable = failure instanceof StoreError && failure.kind === 'unreachable' && etag !== undefined;
      if (!resumable) throw failure;
      idleBreaks = countBreak(idleBreaks, failure);
    }
  }
  if (expectedCrc !== null && crc32ToHex(crc) !== expectedCrc) {
    throw s3.error(operation, key, signal, new Error('Checksum mismatch of the whole object'));
  }
}

function countBreak(breaks: number, error: unknown): number {
  if (breaks + 1 >= MAX_IDLE_BREAKS) throw error;
  return breaks + 1;
}

function changed(s3: S3Connection, operation: string, key: ObjectKey): StoreError {
  return new StoreError({
    kind: 'other',
    operation,
    key,
    bucket: `s3://${s3.bucket}`,
    problem: 'the object was replaced while it was being read',
    remedy: 'Read it again; find out who else writes to this lake.',
  });
}
