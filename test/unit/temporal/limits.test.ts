import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/core/settings.js';
import { activityMemory, activitySlots, cachedWorkflows } from '../../../src/temporal/worker/worker.js';

const MIB = 2 ** 20;

/** @param resources number of resources of each connection */
function cachedFor(...resources: number[]): number {
  const connections = resources.map((length) => ({ resources: Array.from({ length }) }));
  return cachedWorkflows({ connections } as unknown as Settings);
}

describe('a worker caches by default', () => {
  it('a worker caches by default at least 100 workflows', () => {
    expect(cachedFor()).toBe(100);
    expect(cachedFor(7, 7)).toBe(100);
  });

  it('all mirrors and exports of up to 50 connections with seven resources, with room for others', () => {
    expect(cachedFor(...Array<number>(20).fill(7))).toBe(180);
    expect(cachedFor(...Array<number>(50).fill(7))).toBe(420);
  });

  it('100 workflows if there are too many for all of them', () => {
    expect(cachedFor(...Array<number>(51).fill(7))).toBe(100);
    expect(cachedFor(...Array<number>(1000).fill(7))).toBe(100);
  });
});

describe('a worker runs in parallel', () => {
  it('a worker runs in parallel as many activities as fit into their memory, up to the limit', () => {
    expect(activitySlots(16, 1024 * MIB)).toBe(16);
    expect(activitySlots(4, 1024 * MIB)).toBe(4);
    expect(activitySlots(16, 1023 * MIB)).toBe(15);
    expect(activitySlots(16, 128 * MIB)).toBe(2);
  });

  it('one activity however little memory there is', () => {
    for (const bytes of [63 * MIB, 1, 0, -100 * MIB]) expect(activitySlots(16, bytes)).toBe(1);
  });

  it('activities that need half of what the idle worker and its cached workflows leave free', () => {
    expect(activityMemory(1024 * MIB, 100)).toBe(384 * MIB);
    expect(activityMemory(1024 * MIB, 50)).toBe(384 * MIB);
    expect(activityMemory(1024 * MIB, 420)).toBe(352 * MIB);
  });
});
