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

/** The warning about objects that the store refused to remove; none if there are none. */
export function removalWarnings({ refused, said }: Removal): readonly string[] {
  if (refused === 0) return [];
  const objects = refused === 1 ? '1 object that is' : `${refused} objects that are`;
  return [
    `clean-up: the store refused to remove ${objects} no longer needed (${said}), so the lake grows. The published data is ` +
      'complete. Allow s3:DeleteObject, or end the lock or retention of the bucket; the next clean-up tries again.',
  ];
}
