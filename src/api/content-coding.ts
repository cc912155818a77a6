import { constants, createGunzip, type Gunzip } from 'node:zlib';

/** The Accept-Encoding of every request. */
export const ACCEPTED_CODING = 'gzip';

/** Whether a body is not encoded (RFC 9110 8.4). */
export function isIdentity(contentEncoding: string | null): boolean {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  return coding === '' || coding === 'identity';
}

/**
 * The decoder for a Content-Encoding (RFC 9110 8.4). Null for a coding that no request accepts.
 *
 * @param end `marked`: a body without its end is an error; `any`: such a body is decoded as far as it goes
 */
export function decoderOf(contentEncoding: string | null, end: 'marked' | 'any'): Gunzip | null {
  switch (contentEncoding?.trim().toLowerCase()) {
    case 'x-gzip': // Equivalent to gzip (RFC 9110 8.4.1.3).
    case ACCEPTED_CODING:
      return createGunzip({ finishFlush: end === 'marked' ? constants.Z_FINISH : constants.Z_SYNC_FLUSH });
    default:
      return null;
  }
}
