import { totalmem } from 'node:os';
import type { Settings } from '../../core/settings.js';

const MIB = 2 ** 20;
/** What an activity holds at its peak, besides the worker itself (docs/internals/benchmarks.md). */
const ACTIVITY_BYTES = 64 * MIB;
/** What a worker with a small cache of workflows holds while no activity runs. */
const IDLE_BYTES = 192 * MIB;

/** Enough for the workflows that are active at the same time. */
const FEW_WORKFLOWS = 100;
const MANY_WORKFLOWS = 400;
/** For write-backs, change notices and backfills. */
const SPARE_WORKFLOWS = 20;
/** Memory of a cached workflow, bytes. */
const WORKFLOW_BYTES = 0.2 * MIB;

/**
 * How many activities a worker runs at the same time: as many as its memory allows if each of them needs as much as the largest, but
 * at least one.
 *
 * @param most limit whatever the memory
 * @param memoryBytes memory for activities
 */
export function activitySlots(most: number, memoryBytes: number): number {
  return Math.max(1, Math.min(most, Math.floor(memoryBytes / ACTIVITY_BYTES)));
}

/**
 * The memory for activities by default: half of what an idle worker leaves free.
 *
 * @param availableBytes memory of the machine, or of the container if it has a limit
 * @param workflows that the worker caches
 */
export function activityMemory(availableBytes: number, workflows: number): number {
  const cacheBytes = Math.max(0, workflows - FEW_WORKFLOWS) * WORKFLOW_BYTES;
  return Math.floor((availableBytes - IDLE_BYTES - cacheBytes) / 2);
}

/** Memory of this machine, or of the container if it has a limit; bytes. */
export function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/**
 * How many workflows a worker caches by default: all mirrors and exports of its connections if there are at most 400,
 * otherwise 100. A size in between does not help: if all start together, each workflow is evicted before its next task,
 * and its history is replayed (docs/internals/benchmarks.md#many-connections).
 */
export function cachedWorkflows({ connections }: Pick<Settings, 'connections'>): number {
  const all = connections.reduce((sum, { resources }) => sum + resources.length + 1, 0);
  return all > MANY_WORKFLOWS ? FEW_WORKFLOWS : Math.max(FEW_WORKFLOWS, all + SPARE_WORKFLOWS);
}
