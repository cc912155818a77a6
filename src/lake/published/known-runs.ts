import type { RunId } from '../../core/brands.js';
import type { PreviousRun } from '../documents/document-schemas.js';
import type { KnownRuns } from './sweep-plan.js';

/** What a manifest says about its run and the runs before it. */
export interface Listed extends PreviousRun {
  /** Newest first; at most `PREVIOUS_RUNS`, and all if there are fewer. */
  readonly previousRuns: readonly PreviousRun[];
  /** Heads of chains that were left behind (docs/reference/lake.md#manifests). */
  readonly leftBehind: readonly RunId[];
}

/**
 * Reads the published runs, as far as the caller needs them: the runs that the head's manifest lists, then the chains that
 * were left behind, then older runs. Each step is one request, unless manifests are lost: the lists overlap, so the next
 * younger run of a list takes the place of one that is lost.
 *
 * @param read the manifest of a run; `null` if it is lost
 * @param most the length of a list that may not show the beginning of its chain
 */
export async function* readKnownRuns(
  head: Listed,
  read: (runId: RunId) => Promise<Listed | null>,
  most: number,
): AsyncGenerator<KnownRuns> {
  const published = new Map<RunId, number>();
  const heads = new Set<RunId>();
  const waiting: RunId[] = [];
  const open: Listed[] = [];
  let isBroken = false;
  const add = (listed: Listed): number => {
    const before = published.size;
    for (const { runId, publishedAt } of [listed, ...listed.previousRuns]) published.set(runId, publishedAt);
    for (const left of listed.leftBehind) {
      if (heads.has(left)) continue;
      heads.add(left);
      waiting.push(left);
    }
    return published.size - before;
  };
  const take = (listed: Listed): void => {
    // A list that adds nothing is of a chain that another one has shown.
    if (add(listed) > 0 && listed.previousRuns.length >= most) open.push(listed);
  };
  take(head);
  for (;;) {
    yield { published, isWhole: !isBroken && waiting.length === 0 && open.length === 0 };
    const left = waiting.shift();
    const next = left === undefined ? open.shift() : undefined;
    if (left !== undefined) {
      const listed = await read(left);
      if (listed !== null) take(listed);
      else {
        // Its snapshot stays, because nothing says how old it is.
        if (!published.has(left)) published.set(left, Number.POSITIVE_INFINITY);
        isBroken = true;
      }
    } else if (next !== undefined) {
      const listed = await oldestOf(next, read);
      if (listed === null) isBroken = true;
      else take(listed);
    } else return;
  }
}

/**
 * The oldest manifest of a list that is not lost. The lists overlap, so the next younger one tells almost as much.
 *
 * @param read the manifest of a run; `null` if it is lost
 */
export async function oldestOf<T>(
  { previousRuns }: Pick<Listed, 'previousRuns'>,
  read: (runId: RunId) => Promise<T | null>,
): Promise<T | null> {
  for (const { runId } of [...previousRuns].reverse()) {
    const found = await read(runId);
    if (found !== null) return found;
  }
  return null;
}
