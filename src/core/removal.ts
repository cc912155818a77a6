/** What a store did not remove although it was asked to. */
export interface Removal {
  /** Number of objects that it refused to remove, because of a policy, a lock or a retention. They stay. */
  readonly refused: number;
  /** What the store said about the first of them, such as `403 AccessDenied: Access Denied`; `null` if none was refused. */
  readonly said: string | null;
}

export const ALL_REMOVED: Removal = { refused: 0, said: null };

/** Adds up removals. The first refusal gives the words. */
export function addRemovals(...removals: readonly Removal[]): Removal {
  return removals.reduce(
    (sum, { refused, said }) => ({ refused: sum.refused + refused, said: sum.said ?? said }),
    ALL_REMOVED,
  );
}
