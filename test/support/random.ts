/** Numbers that a seed decides: a run that failed can be made again. */
export interface Random {
  /** From 0 up to, and without, 1. */
  share(): number;
  /** A whole number from 0 up to, and without, `n`. */
  below(n: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Tommy Ettinger's mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed;
  const share = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n: number): number => Math.floor(share() * n);
  return { share, below, pick: (from) => from[below(from.length)]! };
}
