import { mix } from './hash.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Two characters at a time: building two million ids one character at a time is the slow part of seeding. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, n) => `${ALPHABET[n >> 5]}${ALPHABET[n & 31]}`,
);

const pair = (n: number): string => PAIRS[n & 1023] as string;

/** Characters of every id of the service (spec, "Resources and their fields"). */
export const ID_LENGTH = 26;

/** A 26-character id that sorts by `ms`; the same arguments always give the same id. */
export function ulid(ms: number, seed: number, n: number): string {
  const high = Math.floor(ms / 2 ** 30);
  const low = ms % 2 ** 30;
  const a = mix(seed, n);
  const b = mix(seed + 1, n);
  const c = mix(seed + 2, n);
  return (
    pair(high >>> 10) +
    pair(high) +
    pair(low >>> 20) +
    pair(low >>> 10) +
    pair(low) +
    pair(a >>> 20) +
    pair(a >>> 10) +
    pair(a) +
    pair(b >>> 20) +
    pair(b >>> 10) +
    pair(b) +
    pair(c >>> 10) +
    pair(c)
  );
}
