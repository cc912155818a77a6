import { crc32 as zlibCrc32 } from 'node:zlib';

/** The CRC-32 polynomial (ISO-HDLC, as in gzip and S3), bit-reversed: the highest bit is the coefficient of x^0. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

/**
 * CRC32 of bytes as an unsigned 32-bit number. Pass the CRC32 of the preceding bytes as `previous` to continue it:
 * `crc32(b, crc32(a))` is the CRC32 of a followed by b.
 */
export function crc32(bytes: Uint8Array, previous = 0): number {
  // For an empty view of no memory, Node forgets the bytes before it and returns 0.
  return bytes.length === 0 ? previous : zlibCrc32(bytes, previous);
}

/**
 * CRC32 of two joined byte sequences from the CRC32 of each and the length of the second, in bytes (any safe
 * integer, so beyond 4 GiB). The method is zlib's `crc32_combine`: the first remainder is multiplied by
 * x^(8 * length) modulo the polynomial, in O(log length) steps.
 */
export function crc32Combine(first: number, second: number, secondBytes: number): number {
  if (!Number.isSafeInteger(secondBytes) || secondBytes < 0) {
    throw new RangeError(`A length in bytes must be an integer of at least 0, found ${secondBytes}`);
  }
  return (multiply(powerOfX(secondBytes), first >>> 0) ^ second) >>> 0;
}

/** Formats a CRC32 as eight lower-case hexadecimal digits, as in manifests. */
export function crc32ToHex(crc: number): string {
  return (crc >>> 0).toString(16).padStart(8, '0');
}

/** Converts eight hexadecimal digits for S3's `x-amz-checksum-crc32`: Base64 of the four bytes, most significant first. */
export function crc32ToBase64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

/** Reverse of `crc32ToBase64`; null for any other text, such as a composite checksum of parts (`0n1OSA==-2`). */
export function crc32FromBase64(base64: string): string | null {
  return /^[A-Za-z0-9+/]{6}==$/.test(base64) ? Buffer.from(base64, 'base64').toString('hex') : null;
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

/** x^(2^n) for n from 0 to 31. Squaring the last entry gives x again, so the table is cyclic. */
const SQUARES: readonly number[] = (() => {
  const squares = [0x40000000];
  while (squares.length < 32) {
    const last = squares[squares.length - 1] as number;
    squares.push(multiply(last, last));
  }
  return squares;
})();

/** x^(8 * bytes) modulo the polynomial. It divides instead of shifting, because `>>` truncates the length to 32 bits. */
function powerOfX(bytes: number): number {
  let power = ONE;
  for (let rest = bytes, n = 3; rest > 0; rest = Math.floor(rest / 2), n++) {
    if (rest % 2 === 1) power = multiply(SQUARES[n & 31] as number, power);
  }
  return power;
}
