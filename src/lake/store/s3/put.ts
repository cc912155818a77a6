import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../core/brands.js';
import { crc32ToBase64 } from '../../crc32.js';
import { RunningDigest } from '../digest.js';
import type { WriteOptions, WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { sendOptions } from './head.js';

/**
 * One PutObject of a body in memory, repeated by the SDK on transient trouble; the store verifies the CRC32 sent.
 * A list of pieces is joined first, since only a buffer can be sent again.
 */
export async function putObject(
  s3: S3Connection,
  key: ObjectKey,
  body: Uint8Array | readonly Uint8Array[],
  options: WriteOptions,
): Promise<WrittenObject> {
  const bytes = body instanceof Uint8Array ? body : Buffer.concat(body);
  const digest = new RunningDigest();
  digest.update(bytes);
  const command = new PutObjectCommand({
    Bucket: s3.bucket,
    Key: s3.keyOf(key),
    Body: bytes,
    ContentLength: bytes.length,
    ContentType: options.contentType,
    ChecksumCRC32: crc32ToBase64(digest.crc32),
  });
  await s3.run('write', key, options.signal, () => s3.client.send(command, sendOptions(options.signal)));
  return digest.finish(key);
}
