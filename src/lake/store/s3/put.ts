import type { ObjectKey } from '../../../core/brands.js';
import { crc32FromHex, crc32ToBase64 } from '../crc32.js';
import { digestOf } from '../digest.js';
import { contentTypeOf } from '../key.js';
import type { WriteOptions, WrittenObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { fullCrc32, sendOptions } from './head.js';
import { sdk } from './sdk.js';

/**
 * Writes a body in memory with one PutObject. The SDK retries transient errors, and the store verifies the CRC32. A list
 * of pieces is joined first, because only a buffer can be sent again.
 *
 * @param known the checksums, if they were computed while the body grew
 */
export async function putObject(
  s3: S3Connection,
  key: ObjectKey,
  body: Uint8Array | readonly Uint8Array[],
  options: WriteOptions,
  known?: WrittenObject,
): Promise<WrittenObject> {
  const bytes = body instanceof Uint8Array ? body : Buffer.concat(body);
  const written = known ?? digestOf(key, bytes);
  const command = new (sdk().PutObjectCommand)({
    Bucket: s3.bucket,
    Key: s3.keyOf(key),
    Body: bytes,
    ContentLength: bytes.length,
    ContentType: contentTypeOf(key),
    ChecksumCRC32: crc32ToBase64(crc32FromHex(written.crc32)),
  });
  const answer = await s3.run('write', key, options.signal, () =>
    s3.client.send(command, sendOptions(options.signal)),
  );
  const isConfirmed = fullCrc32(answer.ChecksumCRC32, answer.ChecksumType) === written.crc32;
  return isConfirmed ? { ...written, confirmed: true } : written;
}
