import type { Settings } from '../../core/settings.js';

/** Enough for what a worker does at the same time. */
const FEW = 100;
/** A cached workflow takes about 0.2 MiB. */
const MANY = 400;
/** For write-backs, change notices and backfills. */
const SPARE = 20;

/**
 * How many workflows a worker caches by default: all mirrors and exports of its connections if they are few, otherwise
 * those that work at the same time. There is no middle way: if all start at once, each leaves a smaller cache before its
 * next task, which then replays its history (docs/explanation/performance.md#many-connections).
 */
export function cachedWorkflows({ connections }: Pick<Settings, 'connections'>): number {
  const all = connections.reduce((sum, { resources }) => sum + resources.length + 1, SPARE);
  return all > MANY ? FEW : Math.max(FEW, all);
}
