import type { ResourceProbe } from './probe.js';

/** Larger pages take longer and gain nothing (docs/internals/benchmarks.md). */
export const MAX_PAGE_SIZE = 10_000;

/** What the service makes of the size of a page. */
export interface LargestPage {
  /** The largest accepted size up to `MAX_PAGE_SIZE`; `null`: no size is accepted. */
  readonly size: number | null;
  /** Whether the service applies a smaller size than requested instead of rejecting the request. */
  readonly clamps: boolean;
  /** Whether larger sizes are rejected. */
  readonly rejects: boolean;
}

/**
 * Finds the largest accepted page. A service may apply a smaller size than requested, and say so in `page.limit`, or reject the
 * request, which a search between an accepted and a rejected size finds: at most 15 requests.
 */
export async function findLargestPage(probe: ResourceProbe): Promise<LargestPage> {
  const first = await probe.page({ limit: MAX_PAGE_SIZE });
  if (first.kind === 'page') {
    const applied = appliedSize(first);
    return { size: applied, clamps: applied < MAX_PAGE_SIZE, rejects: false };
  }
  let accepted = 0;
  let rejected = MAX_PAGE_SIZE;
  while (rejected - accepted > 1) {
    const limit = Math.floor((accepted + rejected) / 2);
    const page = await probe.page({ limit });
    if (page.kind === 'refused' || page.kind === 'not-found') break;
    if (page.kind !== 'page') rejected = limit;
    else {
      accepted = limit;
      const applied = appliedSize({ ...page, requested: limit });
      // It rejects some sizes and reduces others.
      if (applied < limit) return { size: applied, clamps: true, rejects: true };
    }
  }
  return { size: accepted === 0 ? null : accepted, clamps: false, rejects: true };
}

/** Without `page.limit`, a full page that has a next one shows the applied size. */
function appliedSize({
  limit,
  rows,
  nextCursor,
  requested = MAX_PAGE_SIZE,
}: {
  readonly limit: number | null;
  readonly rows: readonly unknown[];
  readonly nextCursor: unknown;
  readonly requested?: number;
}): number {
  if (limit !== null && limit > 0) return Math.min(limit, requested);
  return nextCursor !== null && rows.length > 0 ? Math.min(rows.length, requested) : requested;
}
