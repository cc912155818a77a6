import { constants, createGunzip, type Gunzip } from 'node:zlib';

/** The Accept-Encoding of every request. */
export const ACCEPTED_CODING = 'gzip';

/** Codings that change the bytes of a body (the IANA registry of content codings). */
const CODINGS: readonly string[] = ['gzip', 'br', 'deflate', 'compress', 'zstd', 'dcb', 'dcz', 'exi'];
const GZIP_MAGIC = [0x1f, 0x8b];

/** How to read a body: as it is, as gzip, or not at all, because the service used a coding that no request accepts. */
type Coding = 'identity' | 'gzip' | 'unsupported';

/**
 * The coding of a body (RFC 9110 8.4). The label alone does not decide: some services put a charset or `none` into
 * Content-Encoding, and some proxies decode a body and keep its label. An unknown token means identity. No text begins
 * with the first bytes of gzip, so these show whether a body is gzip.
 *
 * @param chunks the body as it arrived
 */
export function codingOf(contentEncoding: string | null, chunks: readonly Buffer[]): Coding {
  const codings = (contentEncoding ?? '')
    .split(',')
    .map((token) => token.trim().toLowerCase().replace(/^x-/, ''))
    .filter((token) => CODINGS.includes(token));
  if (codings.every((coding) => coding === 'gzip') && codings.length <= 1)
    return startsWith(chunks, GZIP_MAGIC) ? 'gzip' : 'identity';
  return 'unsupported';
}

function startsWith(chunks: readonly Buffer[], bytes: readonly number[]): boolean {
  let at = 0;
  for (const chunk of chunks) {
    for (const byte of chunk) {
      if (byte !== bytes[at]) return false;
      at += 1;
      if (at === bytes.length) return true;
    }
  }
  return false;
}

/** The decoder for gzip. @param end `marked`: a body without its end is an error; `any`: such a body is decoded as far as it goes */
export function gzipDecoder(end: 'marked' | 'any'): Gunzip {
  return createGunzip({ finishFlush: end === 'marked' ? constants.Z_FINISH : constants.Z_SYNC_FLUSH });
}
