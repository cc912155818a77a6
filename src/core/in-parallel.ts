/**
 * Calls `task` for each item, at most `width` at a time. Returns the results in the order of the items. After a failure no
 * further task starts. The first failure is thrown once all running tasks have ended.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
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
  await allDone(Array.from({ length: Math.min(width, items.length) }, worker));
  return results;
}

/** As `inParallel`. `turn` settles when the tasks of all items before this one have ended, so that their results count in order. */
export async function inTurns<T>(
  items: readonly T[],
  width: number,
  task: (item: T, turn: Promise<void>) => Promise<void>,
): Promise<void> {
  let last = Promise.resolve();
  await inParallel(items, width, (item) => {
    const turn = last;
    const work = task(item, turn);
    last = Promise.allSettled([turn, work]).then(() => {});
    return work;
  });
}

/** Like `Promise.all`, but waits until every promise has settled before it throws, so that no work continues in the background. */
export async function allDone<T extends readonly unknown[]>(
  work: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
