import type { ObjectKey } from '../../../core/brands.js';
import { crc32FromBase64 } from '../crc32.js';
import type { ObjectInfo } from '../port.js';
import type { S3Connection } from './connection.js';
import { isMissingObject, readAnswer } from './s3-errors.js';
import { sdk } from './sdk.js';

/** Reads an object's metadata with its checksum; null if the object does not exist. */
export async function headObject(
  s3: S3Connection,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<ObjectInfo | null> {
  const target = s3.target(key);
  const answer = await s3.run('head', key, signal, async () => {
    try {
      return await s3.client.send(
        new (sdk().HeadObjectCommand)({ ...target, ChecksumMode: 'ENABLED' }),
        sendOptions(signal),
      );
    } catch (error) {
      const said = readAnswer(error);
      if (isMissingObject(said)) return null;
      // An error response to HEAD has no body and so no error code. A GET of one byte returns the code.
      if (said.status === 403 || said.status === 400)
        await s3.client.send(new (sdk().GetObjectCommand)({ ...target, Range: 'bytes=0-0' }));
      throw error;
    }
  });
  if (answer === null) {
    await s3.checkBucket('head');
    return null;
  }
  return {
    key,
    bytes: answer.ContentLength ?? 0,
    etag: strongEtag(answer.ETag),
    crc32: fullCrc32(answer.ChecksumCRC32, answer.ChecksumType),
    modifiedAt: answer.LastModified?.getTime() ?? 0,
  };
}

/**
 * The ETag to compare and to send in a condition. A proxy that may change the encoding of a response marks the store's ETag as weak
 * (`W/"…"`), and no store accepts that in `If-Match` (RFC 9110, section 13.1.1).
 */
export function strongEtag(etag: string | undefined): string {
  return (etag ?? '').replace(/^W\//, '');
}

/** The CRC32 of the whole object in hex; null if there is none, or only a composite of the parts' checksums. */
export function fullCrc32(base64: string | undefined, type: string | undefined): string | null {
  return base64 === undefined || type === 'COMPOSITE' ? null : crc32FromBase64(base64);
}

/** SDK options for an abort signal. */
export function sendOptions(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}
