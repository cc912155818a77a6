import type { MirrorState } from './contract/index.js';

/** Runs published at a learned page size before a larger one is tried. A rejected size costs one request. */
const TRY_LARGER_AFTER_RUNS = 7;

/**
 * The page size that a run starts with (docs/explanation/guarantees.md#page-size): the learned one, or periodically twice
 * that, because a service may raise its limit. If the service rejects the first page, the size is halved again.
 *
 * @param configured rows
 * @returns rows; `null`: the configured size
 */
export function sizeToTry(known: MirrorState['pageSize'], configured: number): number | null {
  if (known === null || known.configured !== configured) return null;
  if (known.runs < TRY_LARGER_AFTER_RUNS) return known.learned;
  return Math.min(configured, 2 * known.learned);
}

/** The learned page size after a published run. @param used rows per page at the end of the run */
export function nextPageSize(
  known: MirrorState['pageSize'],
  configured: number,
  used: number,
): MirrorState['pageSize'] {
  if (used >= configured) return null;
  const before = known?.configured === configured ? known : null;
  if (before === null) return { configured, learned: used, runs: 1 };
  // The service accepted a larger size, so the next run tries to double it again.
  if (used > before.learned) return { configured, learned: used, runs: TRY_LARGER_AFTER_RUNS };
  const wasTried = before.runs >= TRY_LARGER_AFTER_RUNS;
  return { configured, learned: used, runs: wasTried ? 1 : before.runs + 1 };
}
