/** Random numbers from a seed, so that a failed run can be repeated. */
export interface Random {
  /** A number from 0 to 1, 1 excluded. */
  share(): number;
  /** An integer from 0 to `n`, `n` excluded. */
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
