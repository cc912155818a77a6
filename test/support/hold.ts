import type { Simulator } from '../../src/simulator/index.js';

type Match = Parameters<Simulator['admin']['beforeAnswer']>[0];

/** Responses that are held until they are released. */
export interface HeldAnswer {
  /** Whether its requests have come. */
  isThere(): boolean;
  release(): void;
}

/** Holds the answer to the next request that matches, or to the next `count` ones. */
export function holdAnswer({ admin }: Simulator, match: Match, count = 1): HeldAnswer {
  let missing = count;
  let release!: () => void;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holdNext = (): void =>
    admin.beforeAnswer(match, () => {
      missing--;
      if (missing > 0) holdNext();
      return released;
    });
  holdNext();
  return { isThere: () => missing === 0, release };
}

/** Makes the next run of a resource wait for its second page, so that it continues in the lake, with a staging folder. */
export function letNextRunSpill({ admin }: Simulator, resource: string): void {
  admin.faults.add({
    match: { resource, page: 1 },
    remaining: 1,
    fault: { kind: 'status', status: 429, retryAfter: 6 },
  });
}
