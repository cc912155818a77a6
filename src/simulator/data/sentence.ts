import { mix } from './deterministic.js';

const ONSETS = [
  'b',
  'br',
  'c',
  'ch',
  'd',
  'f',
  'fl',
  'g',
  'h',
  'k',
  'l',
  'm',
  'n',
  'p',
  'pr',
  'r',
  's',
  'st',
  't',
  'v',
];
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
