/** Hashes a seed and a number to an unsigned 32-bit integer. Deterministic. */
export function mix(seed: number, n: number): number {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(n + 0x7f4a7c15, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return (h ^ (h >>> 15)) >>> 0;
}

/** FNV-1a hash of the UTF-16 code units, as an unsigned 32-bit integer. */
export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Pairs of characters. Building millions of ids one character at a time would dominate the seeding time. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, n) => `${ALPHABET[n >> 5]}${ALPHABET[n & 31]}`,
);

const pair = (n: number): string => PAIRS[n & 1023] as string;

/** Length of every id of the service (docs/service-api.md#what-is-open-and-what-answers-it). */
export const ID_LENGTH = 26;

/** A 26-character id that sorts by `ms`. Deterministic. */
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

const ONSETS = 'b br c ch d f fl g h k l m n p pr r s st t v'.split(' ');
const VOWELS = ['a', 'e', 'ea', 'i', 'o', 'ou', 'u'];
const ENDS = ['', 'ct', 'l', 'm', 'n', 'nd', 'r', 's', 'st', 't'];

const syllable = (random: number): string =>
  `${ONSETS[random % ONSETS.length]}${VOWELS[(random >>> 8) % VOWELS.length]}${ENDS[(random >>> 16) % ENDS.length]}`;

/** Words of one to three syllables; `WORDS[0]` is used most. */
const WORDS: readonly string[] = Array.from({ length: 2000 }, (_, n) =>
  Array.from({ length: 1 + (mix(1, n) % 3) }, (_, at) => syllable(mix(2 + at, n))).join(''),
);

/** A sentence of 3 to 12 words and sometimes a number. Words differ in frequency, as those of a language do. */
export function sentence(seed: number, n: number): string {
  const length = 3 + (mix(seed + 31, n) % 10);
  let text = '';
  for (let at = 0; at < length; at++) {
    const random = mix(seed + 32 + at, n);
    const rank = Math.floor(WORDS.length ** ((random % 65_536) / 65_536)) - 1;
    const word = random >>> 28 === 0 ? String((random >>> 8) % 10_000) : WORDS[rank];
    text += at === 0 ? word : ` ${word}`;
  }
  return text;
}
