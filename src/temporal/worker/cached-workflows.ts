import type { Settings } from '../../core/settings.js';

/** Enough for the workflows that are active at once. */
const FEW = 100;
const MANY = 400;
/** For write-backs, change notices and backfills. */
const SPARE = 20;
/** Memory of a cached workflow, bytes. */
const WORKFLOW_BYTES = 0.2 * 2 ** 20;

/**
 * How many workflows a worker caches by default: all mirrors and exports of its connections if there are at most `MANY`,
 * otherwise `FEW`. A size in between does not help: if all start at once, each workflow is evicted before its next task,
 * and its history is replayed (docs/internals/benchmarks.md#many-connections).
 */
export function cachedWorkflows({ connections }: Pick<Settings, 'connections'>): number {
  const all = connections.reduce((sum, { resources }) => sum + resources.length + 1, 0);
  return all > MANY ? FEW : Math.max(FEW, all + SPARE);
}

/** Memory of a full cache, as far as an idle worker with a cache of 100 does not have it anyway; bytes. */
export function cacheBytes(workflows: number): number {
  return Math.max(0, workflows - FEW) * WORKFLOW_BYTES;
}
