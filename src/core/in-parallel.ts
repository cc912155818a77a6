/**
 * Calls `task` for each item, at most `width` at a time; results in the order of the items. The first failure wins: no
 * further item is begun after it, and those under way have ended when it is thrown.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const at = next++;
      try {
        results[at] = await task(items[at]!);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await allDone(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}

/** Waits until each has ended, one way or the other: nothing goes on behind the caller's back. Then the first failure wins. */
export async function allDone<T extends readonly unknown[]>(
  work: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
