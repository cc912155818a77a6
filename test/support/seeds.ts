import { createHash } from 'node:crypto';
import { it, type TestAPI } from 'vitest';

/** Whether this run is `npm run test:long`, which plays every random test many times. */
export const IS_LONG = process.env.WORKTRACK_LONG !== undefined;

/** A test that only `npm run test:long` runs. A comment there names what covers the same in `npm test`. */
export const longOnly: TestAPI = it.runIf(IS_LONG) as TestAPI;

const GIVEN = process.env.WORKTRACK_SEED;

/** How many times as many rounds `npm run test:long` plays as `npm test`. */
const LONGER = 20;

/** The seed of this run: `WORKTRACK_SEED`, or one that vitest.config.ts has drawn for all files. */
export const SEED = Number(GIVEN ?? process.env.WORKTRACK_FRESH_SEED ?? 1);

/** How often a random test repeats its round. `WORKTRACK_ROUNDS` sets it. @param short in `npm test` */
export function rounds(short: number): number {
  return Number(process.env.WORKTRACK_ROUNDS ?? (IS_LONG ? LONGER * short : short));
}

/**
 * The seeds of a random test, one a round: fixed ones, so that a change has the same verdict twice, and last a fresh one,
 * so that each run also tries what no run has tried. `npm run test:long` adds fresh ones. With `WORKTRACK_SEED`, the rounds
 * begin at that seed, and there is one, or `WORKTRACK_ROUNDS`.
 */
export function seeds(short: number): readonly number[] {
  const count = GIVEN === undefined ? rounds(short) : Number(process.env.WORKTRACK_ROUNDS ?? 1);
  const fixed = GIVEN === undefined ? Math.min(count, short) - 1 : 0;
  return Array.from({ length: count }, (_, round) => (round < fixed ? round + 1 : SEED + round - fixed));
}

/**
 * The rows of a table that this run tries. All in `npm run test:long`. In `npm test`, those that `always` accepts, and `count`
 * others that the seed of the run draws. The order stays as it is.
 */
export function drawn<T>(rows: readonly T[], count: number, always: (row: T) => boolean = () => false): T[] {
  if (IS_LONG) return [...rows];
  const others = rows.filter((row) => !always(row));
  const place = (row: T): number => drawOf(SEED, rows.indexOf(row));
  const chosen = new Set([...others].sort((a, b) => place(a) - place(b)).slice(0, count));
  return rows.filter((row) => always(row) || chosen.has(row));
}

/** A number that looks random, and that the seed and the place determine. */
function drawOf(seed: number, place: number): number {
  return Number.parseInt(createHash('sha256').update(`${seed}/${place}`).digest('hex').slice(0, 12), 16);
}
