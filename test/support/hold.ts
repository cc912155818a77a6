import type { Simulator } from '../../src/simulator/index.js';

type Match = Parameters<Simulator['admin']['beforeAnswer']>[0];

/** A response that is held until it is released. */
export interface HeldAnswer {
  /** Whether its request has come. */
  isThere(): boolean;
  release(): void;
}

/** Holds the answer to the next request that matches. */
export function holdAnswer({ admin }: Simulator, match: Match): HeldAnswer {
  let isThere = false;
  let release!: () => void;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  admin.beforeAnswer(match, () => {
    isThere = true;
    return released;
  });
  return { isThere: () => isThere, release };
}
