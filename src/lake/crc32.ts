import { crc32 as zlibCrc32 } from 'node:zlib';

/** The CRC-32 polynomial (ISO-HDLC, the one of gzip and S3), bits reversed: the highest bit stands for x^0. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

/**
 * CRC32 of some bytes as an unsigned 32-bit number. Give the result of what came before as `previous` to go on
 * with it: `crc32(b, crc32(a))` is the CRC32 of a and b together.
 */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous);
}

/**
 * CRC32 of two joined byte sequences from the CRC32 of each and the length of the second, in bytes (any safe
 * integer, so beyond 4 GiB). The method is zlib's `crc32_combine`: the first remainder is multiplied by
 * x^(8 * length) modulo the polynomial, in O(log length) steps.
 */
export function crc32Combine(first: number, second: number, secondBytes: number): number {
  if (!Number.isSafeInteger(secondBytes) || secondBytes < 0) {
    throw new RangeError(`A length in bytes must be a whole number of at least 0, found ${secondBytes}`);
  }
  return (multiply(powerOfX(secondBytes), first >>> 0) ^ second) >>> 0;
}

/** Eight lower-case hexadecimal digits, the form that manifests carry. */
export function crc32ToHex(crc: number): string {
  return (crc >>> 0).toString(16).padStart(8, '0');
}

/** Reads eight hexadecimal digits; throws a RangeError for anything else. */
export function crc32FromHex(hex: string): number {
  if (!/^[0-9a-f]{8}$/i.test(hex)) throw new RangeError(`Not a CRC32 in eight hexadecimal digits: ${hex}`);
  return Number.parseInt(hex, 16);
}

/** Base64 of the four bytes, most significant first: the form of S3's `x-amz-checksum-crc32`. */
export function crc32ToBase64(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc >>> 0);
  return bytes.toString('base64');
}

/** Reads S3's form; null for anything else, such as a composite checksum of parts (`0n1OSA==-2`). */
export function crc32FromBase64(base64: string): number | null {
  if (!/^[A-Za-z0-9+/]{6}==$/.test(base64)) return null;
  return Buffer.from(base64, 'base64').readUInt32BE(0);
}

/** a * b modulo the polynomial, over GF(2). */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) !== 0 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product >>> 0;
}

/** x^(2^n) for n from 0 to 31. Squaring once more gives x again, so the table is used as a ring. */
const SQUARES: readonly number[] = (() => {
  const squares = [0x40000000];
  while (squares.length < 32) {
    const last = squares[squares.length - 1] as number;
    squares.push(multiply(last, last));
  }
  return squares;
})();

/** x^(8 * bytes) modulo the polynomial. Divides instead of shifting: `>>` would cut the length to 32 bits. */
function powerOfX(bytes: number): number {
  let power = ONE;
  for (let rest = bytes, n = 3; rest > 0; rest = Math.floor(rest / 2), n++) {
    if (rest % 2 === 1) power = multiply(SQUARES[n & 31] as number, power);
  }
  return power;
}
